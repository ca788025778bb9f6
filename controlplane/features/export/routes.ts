import * as z from 'zod'
import { PolicySpec } from '../../../core/crd/schemas.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { actorOf } from '../../events.ts'
import { visibleRecords } from '../../http/auth/rights.ts'
import {
  AgentName,
  Capabilities,
  Environment,
  GatewayName,
  Metadata,
  PolicyName,
  PolicyText,
  Runtime,
} from '../../http/fields.ts'
import { parseInput } from '../../http/input.ts'
import { type Route, route } from '../../http/route.ts'
import { orReplayed } from '../policies/edit-replay.ts'
import type { PolicyReplay } from '../policies/replay.ts'
import type { Bundle, BundleItem } from './bundle.ts'

const MAX_BUNDLE = 10 * 1024 * 1024

const AgentItem = z.strictObject({
  name: AgentName,
  runtime: Runtime.default(''),
  environment: Environment.default('development'),
  status: z.enum(['active', 'suspended', 'revoked']).default('active'),
  capabilities: Capabilities.default([]),
  metadata: Metadata.default({}),
})

const PolicyItem = z.strictObject({
  name: PolicyName,
  policyYaml: PolicyText,
  description: z.string().max(2_000).optional(),
  priority: PolicySpec.shape.priority.unwrap().optional(),
  enabled: z.boolean().optional(),
  tags: PolicySpec.shape.tags.unwrap().optional(),
  mode: PolicySpec.shape.mode.unwrap().optional(),
  version: z.int().optional(),
  /** Names of the gateways that it is bound to; none = all of them. */
  gateways: z.array(GatewayName).max(256).optional(),
})

/** Items are looked at one by one, so that a bad one does not keep the others out. */
const ImportBody = z.strictObject({
  version: z.string().regex(/^1(\.\d+)*$/, 'is not one that this program reads: export again, it writes 1.0'),
  exportedAt: z.string().max(100).optional(),
  organization: z.looseObject({}).optional(),
  agents: z.array(z.unknown()).max(10_000).default([]),
  policies: z.array(z.unknown()).max(1_000).default([]),
})

const ImportView = z.object({
  policies_imported: z.number(),
  agents_imported: z.number(),
  errors: z.array(z.object({ kind: z.enum(['agent', 'policy']), name: z.string(), error: z.string() })),
  agent_keys: z.array(
    z.object({ name: z.string(), agent_id: z.string(), api_key: z.string(), api_key_prefix: z.string() }),
  ),
  policies_disabled: z.array(z.string()),
  defaults_disabled: z.array(z.string()).optional(),
})

const ExportView = z.object({
  version: z.string(),
  exportedAt: z.string(),
  organization: z.object({ name: z.string(), plan: z.string() }),
  agents: z.array(z.looseObject({ name: z.string() })),
  policies: z.array(z.looseObject({ name: z.string(), policyYaml: z.string() })),
})

export type BundleRoutesDeps = { readonly bundle: Bundle; readonly policyReplay: PolicyReplay }

export function createBundleRoutes(deps: BundleRoutesDeps): readonly Route[] {
  return [exportRoute(deps.bundle), importRoute(deps)]
}

function exportRoute(bundle: Bundle): Route {
  return route({
    method: 'GET',
    path: '/api/dashboard/export',
    auth: 'configuration/export',
    isNamespaced: true,
    summary: 'Agents and policies as a bundle, or the configuration as manifests; no secrets',
    query: z.strictObject({ format: z.enum(['json', 'manifests']).default('json') }),
    response: ExportView,
    handler: async ({ query, principal, namespaces }) => {
      const by = actorOf(principal)
      if (query.format === 'json')
        return {
          status: 200,
          body: await bundle.exportJson(namespaces, by),
          headers: attachment('chaperone-export.json'),
        }
      const headers = { ...attachment('chaperone-manifests.yaml'), 'content-type': 'application/yaml' }
      return { status: 200, body: await bundle.exportManifests(namespaces, by), headers }
    },
  })
}

function importRoute(deps: BundleRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/dashboard/import',
    auth: 'configuration/import',
    summary: 'Takes in a bundle: agents get new keys, shown this once; policies become new entries',
    body: ImportBody,
    bodyLimit: MAX_BUNDLE,
    response: ImportView,
    handler: async ({ body, ...caller }) => {
      const agents = body.agents.map((item) => checked(AgentItem, item))
      const policies = body.policies.map((item) => withoutVersion(checked(PolicyItem, item)))
      const by = actorOf(caller.principal)
      return orReplayed(deps, visibleRecords(caller), () => deps.bundle.import(by, { agents, policies }))
    },
  })
}

/** The version counts the changes in the installation that the policy came from; here it begins at 1. */
function withoutVersion(item: BundleItem<z.infer<typeof PolicyItem>>) {
  if ('error' in item) return item
  const { version: _elsewhere, ...value } = item.value
  return { name: item.name, value }
}

function attachment(name: string): Record<string, string> {
  return { 'content-disposition': `attachment; filename="${name}"` }
}

function checked<S extends z.ZodType>(schema: S, item: unknown): BundleItem<z.infer<S>> {
  const name = nameOf(item)
  try {
    return { name, value: parseInput(schema, item) as z.infer<S> }
  } catch (error) {
    if (error instanceof ChaperoneError) return { name, error: error.message }
    throw error
  }
}

/** What an item calls itself, for the report about it. */
function nameOf(item: unknown): string {
  const name = typeof item === 'object' && item !== null && 'name' in item ? item.name : undefined
  return typeof name === 'string' ? name.slice(0, 253) : ''
}
