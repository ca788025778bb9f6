import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { STARTER_DIR } from '../../controlplane/cli/up/starter-manifests.ts'
import type { AgentProgram } from './program.ts'
import { MCP_HOST } from './stand-in/stand-in.ts'

const STARTERS = new URL('../../starters/', import.meta.url).pathname
/** Stored credentials, by connector type. */
const CREDENTIALS = {
  codehost: 'ghp_stored_0001',
  llm_a: 'sk-stored-0002',
  llm_b: 'sk-ant-stored-0003',
  llm_c: 'AIza-stored-0004',
  mcp: 'mcp-stored-0005',
} as const

export const TOOL_REASON = 'Issues are closed for the release check'
export const MODEL_REASON = 'Models are closed for the release check'

type StandInAddress = { readonly port: number; readonly ca: string }
type Upstream = StandInAddress & { readonly programs: readonly AgentProgram[] }

/** The manifests of a first start and all starters, with the stand-in behind the connectors, and one policy for the modes. */
export function manifestsOf({ port, ca, programs }: Upstream): Readonly<Record<string, string>> {
  const upstream = upstreamOf({ port, ca })
  const connected = (text: string): string =>
    text
      .replace(/^ {2}credential: .*\n/gm, '')
      .replace(/^ {2}type: (codehost|llm_[abc])\n/gm, (line, type) => line + credentialOf(type) + upstream)
  const open = (text: string): string => text.replace('  auth: { type: none }\n', (line) => line + upstream)
  const mcp = `${MCP}${credentialOf('mcp')}${upstream}`
  return {
    ...filesIn(STARTER_DIR, connected),
    ...filesIn(STARTERS, open),
    'release-check.yaml': [secret(), mcp, MCP_PERMISSION, policy(programs)].join('---\n'),
  }
}

/** Puts the stand-in behind the Connectors of a starter file, whose credentials stay. */
export function behindStandIn(text: string, { port, ca }: StandInAddress): string {
  const upstream = upstreamOf({ port, ca })
  return text.replace(/^ {2}type: (codehost|llm_[abc])\n/gm, (line) => line + upstream)
}

function upstreamOf({ port, ca }: StandInAddress): string {
  return `  upstream:
    url: https://127.0.0.1:${port}
    allowPrivateAddresses: true
    caBundle: |
      ${ca.trim().replaceAll('\n', '\n      ')}
`
}

function filesIn(folder: string, change: (text: string) => string): Readonly<Record<string, string>> {
  const names = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  return Object.fromEntries(names.map((name) => [name, change(readFileSync(join(folder, name), 'utf8'))]))
}

function credentialOf(type: string): string {
  return `  credential: { secretRef: { name: release-check, key: ${type} } }\n`
}

function secret(): string {
  const data = Object.entries(CREDENTIALS).map(([name, value]) => `  ${name}: ${value}\n`)
  return `apiVersion: v1\nkind: Secret\nmetadata: { name: release-check }\nstringData:\n${data.join('')}`
}

const MCP = `apiVersion: chaperone.dev/v1alpha1
kind: Connector
metadata: { name: tools }
spec:
  type: mcp
  domains: [${MCP_HOST}]
`

const MCP_PERMISSION = `apiVersion: chaperone.dev/v1alpha1
kind: Permission
metadata: { name: tools }
spec:
  gatewayRefs: [{ name: local }]
  rules:
    - { connectorType: mcp, actionPattern: "mcp.*", decision: allow }
`

/** Of a higher priority than those of the starters. */
function policy(programs: readonly AgentProgram[]): string {
  const isTool = 'action.type in ["codehost.issue.create", "mcp.tools.create_issue"]'
  const isModel = 'action.type.matches("^llm_[abc]\\\\.(response|chat|message|content)\\\\.")'
  const withoutTools = programs.filter(({ tool }) => tool === null).map(({ id }) => id)
  const names = withoutTools.flatMap((id) => [`held-5-${id}`, `held-70-${id}`])
  const rules = [
    ['tool-refused', `agent.name.startsWith("tool-refused-") && ${isTool}`, 'deny', TOOL_REASON],
    ['model-refused', `agent.name.startsWith("model-refused-") && ${isModel}`, 'deny', MODEL_REASON],
    ['held', `agent.name.startsWith("held-") && ${isTool}`, 'require_approval', 'The release check holds it'],
    ...names.map((name) => [name, `agent.name == "${name}" && ${isModel}`, 'require_approval', 'It is held']),
  ]
  return `apiVersion: chaperone.dev/v1alpha1
kind: Policy
metadata: { name: release-check }
spec:
  priority: 1000
  scope: { actions: ["*"] }
  rules:
${rules.map(ruleOf).join('')}`
}

function ruleOf([name, condition, decision, reason]: readonly string[]): string {
  return `    - name: ${name}\n      conditions: ['${condition}']\n      decision: ${decision}\n      reason: ${reason}\n`
}
