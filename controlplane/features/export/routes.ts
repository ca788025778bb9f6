import type * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import {
  ExportQuery,
  ExportReply,
  ImportBody,
  ImportedAgent,
  ImportedPolicy,
  ImportReply,
} from '../../../core/wire/export.ts'
import { visibleRecords } from '../../http/auth/rights.ts'
import { parseInput } from '../../http/input.ts'
import { type Route, route } from '../../http/route.ts'
import { actorOf } from '../audit/actor.ts'
import type { ReplayedEdit } from '../manifests/editing/edit-replay.ts'
import type { Bundle, BundleItem } from './bundle.ts'

const MAX_BUNDLE = 10 * 1024 * 1024

export type BundleRoutesDeps = { readonly bundle: Bundle; readonly replayedEdit: ReplayedEdit }

export function createBundleRoutes(deps: BundleRoutesDeps): readonly Route[] {
  return [exportRoute(deps.bundle), importRoute(deps)]
}

function exportRoute(bundle: Bundle): Route {
  return route({
    method: 'GET',
    path: '/api/dashboard/export',
    auth: 'configuration/export',
    isNamespaced: true,
    summary: 'Exports agents and policies as a bundle, or the configuration as manifests; no secrets',
    query: ExportQuery,
    response: ExportReply,
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
    summary:
      'Imports a bundle: agents get new keys, which are returned once; policies are added beside the existing ones',
    body: ImportBody,
    bodyLimit: MAX_BUNDLE,
    response: ImportReply,
    handler: async ({ body, ...caller }) => {
      const agents = body.agents.map((item) => checked(ImportedAgent, item))
      const policies = body.policies.map((item) => withoutVersion(checked(ImportedPolicy, item)))
      const input = { agents, policies, skipSame: body.skip_same }
      if (body.dry_run) return deps.bundle.preview(input)
      const by = actorOf(caller.principal)
      return deps.replayedEdit(visibleRecords(caller), () => deps.bundle.import(by, input))
    },
  })
}

/**
 * Returns the item without its version. The version counts changes in the exporting installation, and an imported
 * policy begins at 1.
 */
function withoutVersion(item: BundleItem<ImportedPolicy>) {
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

/** Returns the name of an item for the import report; empty when the item has no name. */
function nameOf(item: unknown): string {
  const name = typeof item === 'object' && item !== null && 'name' in item ? item.name : undefined
  return typeof name === 'string' ? name.slice(0, 253) : ''
}
