import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import type { SnapshotInput } from '../../../core/snapshot/build.ts'
import { PERMISSION_SECTIONS, sectionText } from '../../../core/snapshot/sections.ts'

const spec = GatewaySpec.parse({})
export const permission = {
  id: 'perm_1',
  agent: '*',
  connector_type: 'codehost',
  action_pattern: 'codehost.*',
  decision: 'allow',
  reason: null,
  source: 'api',
  managed_by: null,
}
export const policy = {
  id: 'pol_1',
  name: 'guard',
  version: 3,
  priority: 1,
  mode: 'enforce',
  document: { rules: [{ name: 'r', decision: 'deny', conditions: ['action.type == "a"'] }] },
}
export const agent = {
  id: 'agent_1',
  name: 'bot',
  runtime: '',
  environment: 'test',
  status: 'active',
  key_sha256: null,
}
export const connector = {
  id: 'conn_1',
  name: 'default/git',
  type: 'codehost',
  domains: ['git.example.com'],
  ports: [443],
  auth: { type: 'token' },
  secret: 's3cret',
  upstream: { allowPrivateAddresses: false },
  tlsMode: 'intercept',
  errorShape: 'service',
  actions: [],
  source: 'api',
  managed_by: null,
}

export const gateway = {
  id: 'gw_1',
  name: 'default/local',
  enforcementLevel: 'enforce_high_risk',
  defaultDecision: 'require_approval',
  egress: spec.egress,
  rateLimit: spec.rateLimit,
  approvals: spec.approvals,
  failurePolicy: spec.failurePolicy,
}

/** Sections of one gateway with an entry each, and `changes` to them. */
export function input(version = 1, changes: Record<string, unknown> = {}): SnapshotInput {
  const sections: Record<string, unknown> = {
    ...Object.fromEntries(PERMISSION_SECTIONS.map((name) => [name, []])),
    gateway,
    agents: [agent],
    connectors: [connector],
    policies: [policy],
    keys: [{ kid: 'k1', jwk: { kty: 'OKP' } }],
    'permissions.03': [permission],
    ...changes,
  }
  return { version, sections, hashes: hashesOf(sections) }
}

/** The content itself does as its own hash. */
function hashesOf(sections: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(sections).map(([name, content]) => [name, sectionText(content)]))
}
