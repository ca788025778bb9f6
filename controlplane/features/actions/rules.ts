import type { BoundConnector } from '../../../core/connectors/registry.ts'
import { compileStoredPolicy } from '../../../core/decision/policies/compile-policy.ts'
import { buildPolicyIndex, type PolicyIndex } from '../../../core/decision/policies/policy-index.ts'
import { buildSnapshot } from '../../../core/snapshot/build.ts'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import { currentVersion } from '../../db/config-version.ts'
import type { Db } from '../../db/query.ts'
import type { Configuration } from '../../sync/sections/configuration.ts'
import type { SectionLibrary } from '../../sync/sections/library.ts'
import type { AgentRow } from '../agents/rows.ts'

/** Rules of the gateway to which an agent belongs. */
export type GatewayRules = {
  readonly id: string
  readonly snapshot: Snapshot
  /** Connectors by connector type. The gateway tries the connectors of one type in this order. */
  readonly connectors: ReadonlyMap<string, readonly BoundConnector[]>
}

/** The rules that decide actions, at one version of the configuration. */
export type ActionRules = {
  readonly version: number
  agent(id: string): AgentRow | undefined
  /**
   * Returns the rules of the agent's gateway. An agent without a gateway gets the rules of the gateway at the setting
   * `gateway_url`. Returns null when neither gateway exists. Builds the rules of a gateway at their first use.
   */
  gatewayOf(agent: AgentRow): GatewayRules | null
  /** Policies that apply to no gateway; they decide actions of agents without a gateway. */
  readonly policies: PolicyIndex
}

export type ActionRulesSource = {
  /** Returns the rules that were read last. A decision is stored only if its rules are still the newest. */
  current(): ActionRules
  /** Reads the version from the database and reloads the rules when it changed. */
  fresh(): Promise<ActionRules>
  reload(): Promise<ActionRules>
}

export function createActionRules(deps: {
  readonly db: Db
  readonly library: SectionLibrary
}): ActionRulesSource {
  const { db, library } = deps
  const gateways = new Map<string, GatewayRules>()
  let known: { readonly configuration: Configuration; readonly rules: ActionRules } | null = null

  function gateway(id: string): GatewayRules | null {
    const set = library.of(id)
    if (set === null) return null
    const before = gateways.get(id)
    if (before?.snapshot.version === set.version) return before
    const sections = Object.fromEntries(
      [...set.texts].map(([name, text]) => [name, JSON.parse(text) as unknown]),
    )
    const snapshot = buildSnapshot({ version: set.version, sections, hashes: set.hashes }, before?.snapshot)
    const rules = { id, snapshot, connectors: connectorsOf(snapshot) }
    gateways.set(id, rules)
    return rules
  }

  function current(): ActionRules {
    const { configuration } = library
    if (configuration === null)
      throw new Error('the configuration was not read yet, so no action can be decided')
    if (known?.configuration !== configuration)
      known = { configuration, rules: rulesOf(configuration, gateway) }
    return known.rules
  }

  async function reload(): Promise<ActionRules> {
    await library.reload()
    return current()
  }

  return {
    current,
    reload,
    fresh: async () => ((await currentVersion(db)) === library.version ? current() : reload()),
  }
}

function rulesOf(configuration: Configuration, gateway: (id: string) => GatewayRules | null): ActionRules {
  const agents = new Map(configuration.agents.map((row) => [row.id, row]))
  const unbound = configuration.policies.filter(({ gatewayIds }) => gatewayIds.length === 0)
  return {
    version: configuration.version,
    agent: (id) => agents.get(id),
    gatewayOf({ gatewayId }) {
      const id = gatewayId ?? configuration.urlGatewayId
      return id === null ? null : gateway(id)
    },
    policies: buildPolicyIndex(unbound.map(({ entry }) => compileStoredPolicy(entry))),
  }
}

function connectorsOf({ hosts }: Snapshot): ReadonlyMap<string, readonly BoundConnector[]> {
  const owners = [...hosts.exact.values(), ...hosts.wildcards.values()].flat()
  const bound = [...new Set(owners.map((owner) => owner.bound))]
  return Map.groupBy(bound, ({ connector }) => connector.name)
}
