import { connectorOfType } from '../../core/connectors/registry.ts'
import type { ConnectorSpec, ResourceKind } from '../../core/crd/schemas.ts'
import type { CustomResource, ResourceStatus } from '../cluster/custom-resources.ts'
import { commonStatus, staleVerdicts } from './common-status.ts'
import { conditionsOf, type Verdict } from './conditions.ts'
import { gatewayParts } from './gateway-status.ts'
import type { StatusFacts } from './status-facts.ts'

/** The whole status as it should be. The same facts give the same text, but for the time of conditions that changed. */
export function planStatus(kind: ResourceKind, object: CustomResource, facts: StatusFacts): ResourceStatus {
  if (isUnheard(object, facts)) return keptStatus(object, facts)
  const common = commonStatus(facts)
  const own = ownPart(kind, object, facts)
  const generation = object.metadata.generation ?? 1
  const verdicts = onePerType([...common.verdicts, ...own.verdicts])
  return {
    observedGeneration: generation,
    conditions: conditionsOf(verdicts, object.status?.conditions ?? [], { generation, now: facts.now }),
    ...(common.programmed === null ? {} : { programmed: common.programmed }),
    ...own.fields,
  }
}

/** The control plane is away and nothing is known of it yet: what was last written stays, and says that it may be old. */
function isUnheard({ metadata, status }: CustomResource, { reply, failure }: StatusFacts): boolean {
  return reply === null && failure !== null && status?.observedGeneration === (metadata.generation ?? 1)
}

function keptStatus({ metadata, status }: CustomResource, facts: StatusFacts): ResourceStatus {
  const kept = (status?.conditions ?? []).filter(({ type }) => type !== 'Stale')
  const at = { generation: metadata.generation ?? 1, now: facts.now }
  const stale = conditionsOf(staleVerdicts(facts), status?.conditions ?? [], at)
  return { ...status, conditions: [...kept, ...stale] }
}

type OwnPart = { readonly verdicts: readonly Verdict[]; readonly fields: Readonly<Record<string, unknown>> }

function ownPart(kind: ResourceKind, object: CustomResource, facts: StatusFacts): OwnPart {
  switch (kind) {
    case 'Gateway':
      return gatewayPart(object as CustomResource<'Gateway'>, facts)
    case 'Connector':
      return { verdicts: [], fields: { domains: domainsOf(object as CustomResource<'Connector'>) } }
    case 'Permission':
      return { verdicts: [], fields: { rules: (object as CustomResource<'Permission'>).spec.rules.length } }
    case 'Policy':
      return { verdicts: [], fields: testsOf(facts) }
  }
}

function gatewayPart(gateway: CustomResource<'Gateway'>, facts: StatusFacts): OwnPart {
  const { verdicts, killed } = gatewayParts(gateway, facts)
  const { injected, ready } = facts.pods ?? { injected: 0, ready: 0 }
  const { metadata, spec } = gateway
  const name = `${metadata.namespace}/${metadata.name}`
  const processes = facts.state?.processes.filter((process) => process.gateway === name).length ?? 0
  const layer = spec.interception === 'transparent' ? 'Captured' : 'Cooperative'
  return {
    verdicts,
    fields: {
      ...{ pods: `${injected}/${ready}`, injectedPods: injected, readyPods: ready, processes, layer },
      ...(killed === null ? {} : { killed }),
    },
  }
}

const MAX_DOMAINS_TEXT = 4_096

function domainsOf({ metadata, spec }: CustomResource<'Connector'>): string {
  const {
    type,
    domains = [],
    actions = [],
    baseUrl,
  }: Partial<ConnectorSpec> & Pick<ConnectorSpec, 'type'> = spec
  const config = { name: metadata.name, domains, actions, ...(baseUrl === undefined ? {} : { baseUrl }) }
  const own = connectorOfType(type).domains(config)
  const base = baseUrl === undefined ? [] : [new URL(baseUrl).hostname]
  return [...new Set([...own, ...base])].join(', ').slice(0, MAX_DOMAINS_TEXT)
}

function testsOf({ reply }: StatusFacts): { tests?: string } {
  const tests = reply?.tests
  return tests == null ? {} : { tests: `${tests.passed} of ${tests.total}` }
}

/** The first word about a type counts: what is common to all kinds goes before what is a Gateway's own. */
function onePerType(verdicts: readonly Verdict[]): Verdict[] {
  const byType = new Map<string, Verdict>()
  for (const each of verdicts) if (!byType.has(each.type)) byType.set(each.type, each)
  return [...byType.values()]
}
