import { ConnectorSpec } from '../../core/crd/connector-spec.ts'
import { GatewaySpec } from '../../core/crd/gateway/gateway-spec.ts'
import { PolicySpec } from '../../core/crd/policy/policy-spec.ts'
import { CONNECTOR_RULES, GATEWAY_RULES, PERMISSION_RULES, POLICY_RULES } from '../../core/crd/rules.ts'
import { PermissionSpec } from '../../core/crd/schemas.ts'
import type { SpecRules } from '../../core/crd/spec-rules.ts'
import { ConnectorStatus, GatewayStatus, PermissionStatus, PolicyStatus } from '../../core/crd/status.ts'
import type { CrdSource, PrinterColumn } from './crd.ts'

function condition(name: string, type: string, priority = 0): PrinterColumn {
  const jsonPath = `.status.conditions[?(@.type=="${type}")].status`
  return { name, type: 'string', jsonPath, ...(priority === 0 ? {} : { priority }) }
}

function column(name: string, jsonPath: string, type = 'string'): PrinterColumn {
  return { name, type, jsonPath }
}

/** Returns a printer column that only `kubectl get -o wide` shows (priority 1). */
function wide(name: string, jsonPath: string, type = 'integer'): PrinterColumn {
  return { ...column(name, jsonPath, type), priority: 1 }
}

const PROGRAMMED = condition('Programmed', 'Programmed', 1)

/**
 * Returns the CEL rules as texts, without the type of the spec that they check. Rules of different specs then
 * have one type.
 */
const textOf = (rules: SpecRules<never>) => ({
  cross: rules.cross.map(({ cel, path, message }) => ({ cel, path, message })),
  lists: rules.lists,
  ...(rules.immutable === undefined ? {} : { immutable: rules.immutable }),
})

export const KINDS: readonly CrdSource[] = [
  {
    kind: 'Gateway',
    plural: 'gateways',
    shortName: 'cgw',
    description: 'Governs a set of agents: enforcement level, defaults, limits, kill switch.',
    spec: GatewaySpec,
    status: GatewayStatus,
    rules: textOf(GATEWAY_RULES),
    columns: [
      column('Enforcement', '.spec.enforcementLevel'),
      column('Interception', '.spec.interception'),
      column('Pods', '.status.pods.governed', 'integer'),
      condition('Killed', 'KillSwitchActive'),
      condition('Ready', 'Ready'),
      wide('Pods-Ready', '.status.pods.ready'),
      wide('Gateways', '.status.gateways.connected'),
      wide('Current', '.status.gateways.current'),
      condition('Degraded', 'Degraded', 1),
      PROGRAMMED,
    ],
  },
  {
    kind: 'Connector',
    plural: 'connectors',
    shortName: 'ccon',
    description: 'An API that agents reach: its hosts, its credential, how requests become actions.',
    spec: ConnectorSpec,
    status: ConnectorStatus,
    rules: textOf(CONNECTOR_RULES),
    columns: [
      column('Type', '.spec.type'),
      column('Domains', '.status.domains'),
      condition('Ready', 'Ready'),
      PROGRAMMED,
    ],
  },
  {
    kind: 'Permission',
    plural: 'permissions',
    shortName: 'cperm',
    description: 'Which agents may do what through a Gateway; the most specific rule wins.',
    spec: PermissionSpec,
    status: PermissionStatus,
    rules: textOf(PERMISSION_RULES),
    columns: [
      column('Gateway', '.spec.gatewayRefs[*].name'),
      column('Rules', '.status.rules', 'integer'),
      condition('Accepted', 'Accepted'),
      wide('Expires', '.spec.expiresAt', 'string'),
      wide('Max-Uses', '.spec.maxUses'),
      condition('Refs', 'ResolvedRefs', 1),
      PROGRAMMED,
    ],
  },
  {
    kind: 'Policy',
    plural: 'policies',
    shortName: 'cpol',
    description: 'Conditions on actions, with tests: allow, deny, or require approval.',
    spec: PolicySpec,
    status: PolicyStatus,
    rules: textOf(POLICY_RULES),
    columns: [
      column('Mode', '.spec.mode'),
      column('Priority', '.spec.priority', 'integer'),
      condition('Accepted', 'Accepted'),
      column('Tests', '.status.tests.total', 'integer'),
      column('Passed', '.status.tests.passed', 'integer'),
      condition('Refs', 'ResolvedRefs', 1),
      PROGRAMMED,
    ],
  },
]
