import { connectorOfType } from '../../core/connectors/registry.ts'
import type { ConnectorSpec } from '../../core/crd/connector-spec.ts'
import type { ResourceKind } from '../../core/crd/schemas.ts'
import type { CustomResource, ResourceStatus } from '../cluster/custom-resources.ts'
import { commonStatus, staleVerdicts } from './common-status.ts'
import { conditionsOf, type Verdict } from './conditions.ts'
import { gatewayPart } from './gateway-status.ts'
import type { StatusFacts } from './status-facts.ts'

/** Computes the complete status of an object. Pure: equal facts give equal texts. */
export function planStatus(kind: ResourceKind, object: CustomResource, facts: StatusFacts): ResourceStatus {
  if (isUnconfirmed(object, facts)) return keptStatus(object, facts)
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

/**
 * Reports whether the control plane is unreachable and never confirmed this content. The written status then stays,
 * with an added `Stale` condition.
 */
function isUnconfirmed({ metadata, status }: CustomResource, { reply, failure }: StatusFacts): boolean {
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
      return ownPartOfGateway(object as CustomResource<'Gateway'>, facts)
    case 'Connector':
      return { verdicts: [], fields: { domains: domainsOf(object as CustomResource<'Connector'>) } }
    case 'Permission':
      return { verdicts: [], fields: { rules: (object as CustomResource<'Permission'>).spec.rules.length } }
    case 'Policy':
      return { verdicts: [], fields: testsOf(facts) }
  }
}

function ownPartOfGateway(gateway: CustomResource<'Gateway'>, facts: StatusFacts): OwnPart {
  const { verdicts, killed } = gatewayPart(gateway, facts)
  const { injected, ready } = facts.pods ?? { injected: 0, ready: 0 }
  const { metadata, spec } = gateway
  const name = `${metadata.namespace}/${metadata.name}`
  const processes = facts.state?.processes.filter((process) => process.gateway === name).length ?? 0
  const layer = spec.interception === 'transparent' ? 'Captured' : 'Cooperative'
  return {
    verdicts,
    fields: {
      pods: `${injected}/${ready}`,
      injectedPods: injected,
      readyPods: ready,
      processes,
      layer,
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

/**
 * Keeps the first verdict of each type. The common part is listed first, so it has precedence over the Gateway's part.
 */
function onePerType(verdicts: readonly Verdict[]): Verdict[] {
  const byType = new Map<string, Verdict>()
  for (const each of verdicts) if (!byType.has(each.type)) byType.set(each.type, each)
  return [...byType.values()]
}
