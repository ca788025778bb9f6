import * as z from 'zod'
import { PolicyRecord } from '../crd/policy/policy-spec.ts'
import {
  Capabilities,
  Environment,
  GatewayName,
  Metadata,
  NewAgentName,
  PolicyName,
  PolicyText,
  Runtime,
} from './schema/fields.ts'

export const ExportQuery = z.strictObject({ format: z.enum(['json', 'manifests']).default('json') })

/** Body of an import. The import validates each item separately, so that an invalid item does not reject the others. */
export const ImportBody = z.strictObject({
  version: z
    .string()
    .regex(/^1(\.\d+)*$/, 'is not supported; export again with this version, which writes 1.0'),
  exportedAt: z.string().max(100).optional(),
  organization: z.looseObject({}).optional(),
  agents: z.array(z.unknown()).max(10_000).default([]),
  policies: z.array(z.unknown()).max(1_000).default([]),
  /** If true, the import stores nothing, and the reply compares each item with the stored object of the same name. */
  dry_run: z.boolean().default(false),
  /**
   * If true, the import omits items that equal a stored object. If false, the import adds every policy as a new one.
   */
  skip_same: z.boolean().default(false),
})
export const ImportedAgent = z.strictObject({
  name: NewAgentName,
  runtime: Runtime.default(''),
  environment: Environment.default('development'),
  status: z.enum(['active', 'suspended', 'revoked']).default('active'),
  capabilities: Capabilities.default([]),
  metadata: Metadata.default({}),
})
export const ImportedPolicy = z.strictObject({
  name: PolicyName,
  policyYaml: PolicyText,
  description: z.string().max(2_000).optional(),
  priority: PolicyRecord.shape.priority.unwrap().optional(),
  enabled: z.boolean().optional(),
  tags: PolicyRecord.shape.tags.unwrap().optional(),
  mode: PolicyRecord.shape.mode.unwrap().optional(),
  version: z.int().optional(),
  /** Names of the gateways that the policy covers; absent for all gateways. */
  gateways: z.array(GatewayName).max(256).optional(),
})
export const ImportReply = z.object({
  policies_imported: z.number(),
  agents_imported: z.number(),
  errors: z.array(z.object({ kind: z.enum(['agent', 'policy']), name: z.string(), error: z.string() })),
  agent_keys: z.array(
    z.object({ name: z.string(), agent_id: z.string(), api_key: z.string(), api_key_prefix: z.string() }),
  ),
  policies_disabled: z.array(z.string()),
  defaults_disabled: z.array(z.string()).optional(),
  /** Names of the items that `skip_same` omitted. */
  skipped: z.object({ agents: z.array(z.string()), policies: z.array(z.string()) }).optional(),
  /**
   * Only with `dry_run`: each item, compared with the stored objects. `differs`: the fields in which a changed item
   * differs.
   */
  preview: z
    .array(
      z.object({
        kind: z.enum(['agent', 'policy']),
        name: z.string(),
        state: z.enum(['new', 'changed', 'same', 'invalid']),
        differs: z.array(z.string()).readonly().optional(),
        error: z.string().optional(),
      }),
    )
    .optional(),
})
export const ExportReply = z.object({
  version: z.string(),
  exportedAt: z.string(),
  organization: z.object({ name: z.string(), plan: z.string() }),
  agents: z.array(z.looseObject({ name: z.string() })),
  policies: z.array(z.looseObject({ name: z.string(), policyYaml: z.string() })),
})

export type ExportReply = z.infer<typeof ExportReply>
export type ImportedPolicy = z.infer<typeof ImportedPolicy>
export type ImportReply = z.infer<typeof ImportReply>
