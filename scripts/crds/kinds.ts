import { ConnectorSpec, GatewaySpec, PermissionSpec, PolicySpec } from '../../core/crd/schemas.ts'
import type { CrdSource, PrinterColumn } from './crd.ts'

function condition(name: string, type: string): PrinterColumn {
  return { name, type: 'string', jsonPath: `.status.conditions[?(@.type=="${type}")].status` }
}

export const KINDS: readonly CrdSource[] = [
  {
    kind: 'Gateway',
    plural: 'gateways',
    shortName: 'cgw',
    description: 'What governs a set of agents: level, defaults, limits, kill switch.',
    spec: GatewaySpec,
    columns: [
      { name: 'Enforcement', type: 'string', jsonPath: '.spec.enforcementLevel' },
      { name: 'Mode', type: 'string', jsonPath: '.spec.interception' },
      { name: 'Pods', type: 'string', jsonPath: '.status.pods' },
      { name: 'Killed', type: 'boolean', jsonPath: '.spec.killSwitch.active' },
      condition('Ready', 'Ready'),
    ],
  },
  {
    kind: 'Connector',
    plural: 'connectors',
    shortName: 'ccon',
    description: 'An API that agents reach: its hosts, its credential, how requests become actions.',
    spec: ConnectorSpec,
    columns: [
      { name: 'Type', type: 'string', jsonPath: '.spec.type' },
      { name: 'Domains', type: 'string', jsonPath: '.spec.domains' },
      condition('Ready', 'Ready'),
    ],
  },
  {
    kind: 'Permission',
    plural: 'permissions',
    shortName: 'cperm',
    description: 'Which agents may do what through a Gateway; the most specific rule wins.',
    spec: PermissionSpec,
    columns: [
      { name: 'Gateway', type: 'string', jsonPath: '.spec.gateway' },
      { name: 'Rules', type: 'string', jsonPath: '.spec.rules[*].actionPattern', priority: 1 },
      condition('Accepted', 'Accepted'),
    ],
  },
  {
    kind: 'Policy',
    plural: 'policies',
    shortName: 'cpol',
    description: 'Conditions on actions, with tests: allow, deny, or ask a person.',
    spec: PolicySpec,
    columns: [
      { name: 'Enabled', type: 'boolean', jsonPath: '.spec.enabled' },
      { name: 'Priority', type: 'integer', jsonPath: '.spec.priority' },
      condition('Accepted', 'Accepted'),
      { name: 'Tests', type: 'string', jsonPath: '.status.tests' },
    ],
  },
]
