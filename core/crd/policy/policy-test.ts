import * as z from 'zod'
import { boundedMap } from '../fields.ts'

/** The action of a test. */
export const PolicyTestAction = z.strictObject({
  type: z.string().min(1).max(300),
  resource: z.strictObject({
    provider: z.string().min(1).max(253),
    account: z.string().max(253).optional(),
    target: z.string().max(1_000).optional(),
    environment: z.string().max(64).optional(),
  }),
  parameters: boundedMap(z.unknown(), 128).default({}),
  risk_hints: boundedMap(z.boolean(), 64).default({}),
  context: boundedMap(z.unknown(), 128).default({}),
})

/** One test in a policy: an action with its agent and request, and the expected result. */
export const PolicyTest = z.strictObject({
  name: z.string().min(1).max(200),
  action: PolicyTestAction,
  /** The facts `request.*` of a proxied action; absent for a submitted action. */
  request: z
    .strictObject({
      method: z.string().max(32).default('GET'),
      host: z.string().max(253).default('api.example.com'),
      path: z.string().max(2_000).default('/'),
      query: boundedMap(z.string().max(8_000), 128).default({}),
      headers: boundedMap(z.string().max(8_000), 128).default({}),
      body: z.unknown().optional(),
    })
    .optional(),
  agent: z
    .strictObject({
      name: z.string().max(253).default('test'),
      environment: z.string().max(64).default('production'),
    })
    .prefault({}),
  now: z.iso.datetime().max(40).optional(),
  expect: z.strictObject({
    outcome: z.enum(['allow', 'deny', 'requires_approval', 'no_opinion']),
    rule: z.string().max(128).optional(),
  }),
})

export type PolicyTest = z.infer<typeof PolicyTest>
