import { connectorOfType } from '../../core/connectors/registry.ts'
import type { ConnectorSpec } from '../../core/crd/connector-spec.ts'
import type { ResourceKind } from '../../core/crd/schemas.ts'
import type { CustomResource, ResourceStatus } from '../cluster/custom-resources.ts'
import { commonVerdicts, staleVerdict } from './common-status.ts'
import { conditionsOf, type Verdict, verdict } from './conditions.ts'
import { type GatewayPart, gatewayPart } from './gateway-status.ts'
import type { StatusFacts } from './status-facts.ts'

/** Computes the complete status of an object. The function is pure: equal facts give equal texts. */
export function planStatus(kind: ResourceKind, object: CustomResource, facts: StatusFacts): ResourceStatus {
  if (isUnconfirmed(object, facts)) return keptStatus(object, facts)
  const own = ownPart(kind, object, facts)
  const generation = object.metadata.generation ?? 1
  const warnings = own.warnings ?? undeclaredVerdict(kind, facts)
  const verdicts = withDegraded([...commonVerdicts(facts), ...own.verdicts], { ...own, warnings })
  return {
    observedGeneration: generation,
    conditions: conditionsOf(verdicts, object.status?.conditions ?? [], { generation, now: facts.now }),
    ...own.fields,
  }
}

/**
 * Reports whether the push failed before this process had a reply to the current content of the object, although
 * another process has already written the status for this generation, for example before a change of the leader. The
 * status then stays the same, except for the `Stale` condition.
 */
function isUnconfirmed({ metadata, status }: CustomResource, { reply, failure }: StatusFacts): boolean {
  return reply === null && failure !== null && status?.observedGeneration === (metadata.generation ?? 1)
}

function keptStatus({ metadata, status }: CustomResource, facts: StatusFacts): ResourceStatus {
  const kept = (status?.conditions ?? []).filter(({ type }) => type !== 'Stale')
  const at = { generation: metadata.generation ?? 1, now: facts.now }
  const stale = conditionsOf([staleVerdict(facts)], status?.conditions ?? [], at)
  return { ...status, conditions: [...kept, ...stale] }
}

type OwnPart = Omit<GatewayPart, 'fields'> & {
  readonly fields: Readonly<Record<string, unknown>>
}

function ownPart(kind: ResourceKind, object: CustomResource, facts: StatusFacts): OwnPart {
  const only = (fields: OwnPart['fields']) => ({ verdicts: [], degraded: [], warnings: null, fields })
  switch (kind) {
    case 'Gateway':
      return facts.gateway === null
        ? only({})
        : gatewayPart(object as CustomResource<'Gateway'>, facts.gateway)
    case 'Connector':
      return {
        ...only({ domains: domainsOf(object as CustomResource<'Connector'>) }),
        degraded: credentialVerdicts(facts),
      }
    case 'Permission':
      return only({ rules: (object as CustomResource<'Permission'>).spec.rules.length })
    case 'Policy':
      return only(testsOf(facts))
  }
}

/**
 * Completes the `Degraded` condition, which has only one reason. Problems of gateways and pods have the
 * highest precedence, then warnings about the object, then warnings of gateways, then fields that the status
 * lacks.
 */
function withDegraded(
  verdicts: readonly Verdict[],
  { degraded: [worst], warnings }: Pick<OwnPart, 'degraded' | 'warnings'>,
): readonly Verdict[] {
  return verdicts.map((each) => {
    if (each.type !== 'Degraded') return each
    return worst ?? (each.status === 'True' ? each : (warnings ?? each))
  })
}

function undeclaredVerdict(kind: ResourceKind, { undeclared }: StatusFacts): Verdict | null {
  if (undeclared.length === 0) return null
  const fields = undeclared.map((field) => `status.${field}`).join(', ')
  const text = `the custom resource definition of ${kind} is older than the operator, so the status lacks ${fields}; apply the definitions of the operator's version (crds/)`
  return verdict('Degraded', 'True', ['DefinitionOutdated', text])
}

/**
 * Returns the `Degraded` condition of a failing credential. The text has no times, because every change of a text is a
 * write of the status.
 */
function credentialVerdicts({ credentialError }: StatusFacts): readonly Verdict[] {
  if (credentialError === null) return []
  const text = `the credential could not be refreshed, and the last one is sent until it expires: ${credentialError}`
  return [verdict('Degraded', 'True', ['CredentialSourceFailed', text])]
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

function testsOf({ reply }: StatusFacts): { tests?: { passed: number; total: number } } {
  const tests = reply?.tests
  return tests == null ? {} : { tests: { passed: tests.passed, total: tests.total } }
}
