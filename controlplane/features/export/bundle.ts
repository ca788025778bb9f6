import type { KnownAction } from '../../../core/action/spec.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import type { ExportReply, ImportedPolicy, ImportReply } from '../../../core/wire/export.ts'
import { getOrg } from '../../db/orgs.ts'
import type { Db, Query } from '../../db/query.ts'
import { savepoint } from '../../db/savepoint.ts'
import { createScopedQuery } from '../../db/scoped-query.ts'
import { validationError } from '../../http/input.ts'
import { isDemoAgent, listAgentsIn } from '../agents/rows.ts'
import { createAgent, type NewAgent } from '../agents/service.ts'
import type { Actor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { findGatewayByName, gatewayNamesIn } from '../gateways/rows.ts'
import { listPoliciesIn } from '../policies/rows.ts'
import { createPolicy, disablePolicy, type NewPolicy } from '../policies/service.ts'
import { compareWithExisting } from './bundle-comparison.ts'
import { agentView, policyView } from './bundle-views.ts'
import { manifestsOf } from './manifests.ts'
import { untouchedDefaults } from './untouched-defaults.ts'

/**
 * Version of the bundle format. The major number rises when older versions of the program can no longer read a bundle.
 * A version of the program that reads `1.0` reads every `1.x`.
 */
const BUNDLE_VERSION = '1.0'

export type BundleDeps = {
  readonly db: Db
  readonly orgId: string
  readonly platformNamespaces: ReadonlySet<string>
  readonly knownAction: (type: string) => KnownAction | null
}

/** One item of a bundle after validation by its schema: the value, or the error of the validation. */
export type BundleItem<T> =
  | { readonly name: string; readonly value: T }
  | { readonly name: string; readonly error: string }

/** `gateways`: names of the gateways to which the policy applies; empty or absent for a policy of all gateways. */
type PolicyOfBundle = NewPolicy & Pick<ImportedPolicy, 'gateways'>

export type ImportInput = {
  readonly agents: readonly BundleItem<Omit<NewAgent, 'gatewayId'>>[]
  readonly policies: readonly BundleItem<PolicyOfBundle>[]
  /** True to skip items that exist with the same content. */
  readonly skipSame: boolean
}

type Named = { readonly name: string }

type ImportError = ImportReply['errors'][number]

export type Bundle = {
  /** Exports agents and policies as JSON, without any secret. */
  exportJson(namespaces: Namespaces, by: Actor): Promise<ExportReply>
  /** Exports gateways, connectors (without credentials), permissions and policies as manifests (YAML documents). */
  exportManifests(namespaces: Namespaces, by: Actor): Promise<string>
  /** Stores all valid items in one transaction. The reply lists the invalid items with their errors. */
  import(by: Actor, input: ImportInput): Promise<ImportReply>
  /** Reports what an import would store. Stores nothing. */
  preview(input: ImportInput): Promise<ImportReply>
}

export function createBundle(deps: BundleDeps): Bundle {
  const { db, orgId, platformNamespaces } = deps
  const noteExport = (q: Query, actor: Actor, details: Readonly<Record<string, unknown>>) =>
    recordEvent(q, { orgId, actor, type: 'config.exported', details })
  return {
    exportJson: (namespaces, by) =>
      db.tx(async (q) => {
        const query = createScopedQuery(q, namespaces)
        const { name, plan } = await getOrg(q)
        const agents = (await listAgentsIn(query)).filter((agent) => !isDemoAgent(agent)).map(agentView)
        const gateways = await gatewayNamesIn(query)
        const policies = (await listPoliciesIn(query)).map((row) =>
          policyView(row, (id) => gateways.get(id) ?? id),
        )
        await noteExport(q, by, { format: 'json', agents: agents.length, policies: policies.length })
        const exportedAt = new Date().toISOString()
        return { version: BUNDLE_VERSION, exportedAt, organization: { name, plan }, agents, policies }
      }),
    exportManifests: (namespaces, by) =>
      db.tx(async (q) => {
        const query = createScopedQuery(q, namespaces)
        const { text, counts } = await manifestsOf(query, platformNamespaces)
        await noteExport(q, by, { format: 'manifests', ...counts })
        return text
      }),
    import: (by, input) => db.tx((q) => importAll(q, deps, by, input)),
    preview: (input) => previewOf(db, input),
  }
}

async function importAll(q: Query, deps: BundleDeps, by: Actor, input: ImportInput): Promise<ImportReply> {
  const errors: ImportError[] = []
  const keys: ImportReply['agent_keys'] = []
  const disabled: string[] = []
  const defaults = await untouchedDefaults(q)
  const { agents, policies, skipped } = input.skipSame
    ? await changedItems(q, input)
    : { ...input, skipped: null }
  const agentCount = await each(q, 'agent', agents, errors, async (item) => {
    const { agent, key } = await createAgent(q, deps.orgId, by, item)
    if (agent.status === 'revoked') return
    const { name, id } = agent
    keys.push({ name, agent_id: id, api_key: key.key, api_key_prefix: key.prefix })
  })
  let enabledCount = 0
  const policyCount = await each(q, 'policy', policies, errors, async (item) => {
    const { gateways = [], ...policy } = item
    const gatewayIds = await Promise.all(gateways.map((name) => gatewayId(q, name)))
    const { row } = await createPolicy(q, deps, by, { ...policy, gatewayIds, disableFailing: true })
    if (row.activeVersion === null) disabled.push(row.name)
    if (row.enabled) enabledCount++
  })
  const kept = new Set(skipped?.policies)
  // If an import enables a policy or skips an unchanged default policy, the import disables the other unedited default
  // policies. The skipped default policies stay enabled.
  const isReplacing = enabledCount > 0 || defaults.some(({ name }) => kept.has(name))
  const replaced = isReplacing ? defaults.filter(({ name }) => !kept.has(name)) : []
  for (const row of replaced) await disablePolicy(q, by, row)
  const aside = {
    ...(replaced.length === 0 ? {} : { defaults_disabled: replaced.map(({ name }) => name).toSorted() }),
    ...(skipped === null ? {} : { skipped }),
  }
  const details = { agents: agentCount, policies: policyCount, errors, policies_disabled: disabled, ...aside }
  await recordEvent(q, { orgId: deps.orgId, actor: by, type: 'config.imported', details })
  return {
    policies_imported: policyCount,
    agents_imported: agentCount,
    errors,
    agent_keys: keys,
    policies_disabled: disabled,
    ...aside,
  }
}

/** Returns the items that an import would change or create, and the names of the skipped items. */
async function changedItems(q: Query, { agents, policies }: ImportInput) {
  const compare = await compareWithExisting(q)
  const isSame = (kind: ImportError['kind'], item: BundleItem<Named>) =>
    'value' in item && compare(kind, item.value).state === 'same'
  const same = {
    agents: agents.filter((item) => isSame('agent', item)),
    policies: policies.filter((item) => isSame('policy', item)),
  }
  return {
    agents: agents.filter((item) => !same.agents.includes(item)),
    policies: policies.filter((item) => !same.policies.includes(item)),
    skipped: { agents: same.agents.map(nameOf), policies: same.policies.map(nameOf) },
  }
}

const nameOf = ({ name }: { readonly name: string }) => name

/** Compares each item with the existing objects of its name. Stores nothing. */
async function previewOf(q: Query, { agents, policies }: ImportInput): Promise<ImportReply> {
  const compare = await compareWithExisting(q)
  const row = (kind: ImportError['kind'], { name, ...item }: BundleItem<Named>) =>
    'error' in item
      ? { kind, name, state: 'invalid' as const, error: item.error }
      : { kind, name, ...compare(kind, item.value) }
  const preview = [
    ...agents.map((item) => row('agent', item)),
    ...policies.map((item) => row('policy', item)),
  ]
  const nothing = { policies_imported: 0, agents_imported: 0, errors: [], agent_keys: [] }
  return { ...nothing, policies_disabled: [], preview }
}

/**
 * Resolves the name of a gateway to its id. Throws when the gateway does not exist, because a policy without its
 * gateway would apply to all gateways.
 */
async function gatewayId(q: Query, name: string): Promise<string> {
  const row = await findGatewayByName(q, name)
  if (row !== undefined) return row.id
  throw validationError([
    `gateways: this installation has no gateway ${name}; create the gateway first, or leave it out`,
  ])
}

/**
 * Stores each item that is valid. Returns the number of stored items and adds the errors of the other items to
 * `errors`.
 */
async function each<T>(
  q: Query,
  kind: ImportError['kind'],
  items: readonly BundleItem<T>[],
  errors: ImportError[],
  store: (value: T) => Promise<void>,
): Promise<number> {
  let count = 0
  for (const item of items) {
    const error = 'error' in item ? item.error : await attempt(q, () => store(item.value))
    if (error === null) count++
    else errors.push({ kind, name: item.name, error })
  }
  return count
}

/**
 * Runs the work in a savepoint. Returns null on success, and the message of an error that the user can correct.
 * Rethrows any other error, which ends the import.
 */
async function attempt(q: Query, work: () => Promise<void>): Promise<string | null> {
  try {
    await savepoint(q, work)
    return null
  } catch (error) {
    if (error instanceof ChaperoneError && error.status < 500) return error.message
    throw error
  }
}
