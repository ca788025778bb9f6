import type { RiskLevel } from '../../core/action/action.ts'
import type { KnownAction } from '../../core/action/spec.ts'
import { CHAT_ROWS } from '../../core/connectors/chat/rows.ts'
import { ACTIONS } from '../../core/connectors/codehost/actions.ts'
import { CONTENTS } from '../../core/connectors/codehost/contents.ts'
import { GIT } from '../../core/connectors/codehost/git.ts'
import { ISSUES } from '../../core/connectors/codehost/issues.ts'
import { PEOPLE } from '../../core/connectors/codehost/people.ts'
import { PULLS } from '../../core/connectors/codehost/pulls.ts'
import { REPOS } from '../../core/connectors/codehost/repos.ts'
import type { Row } from '../../core/connectors/connector.ts'
import { LLM_A_ROWS } from '../../core/connectors/llm/rows-a.ts'
import { LLM_B_ROWS } from '../../core/connectors/llm/rows-b.ts'
import { PAYMENTS_ROWS } from '../../core/connectors/payments/rows.ts'

type Entry = Pick<Row, 'type' | 'effect' | 'risk'> & Partial<Pick<Row, 'hints'>>

/** What the catalogue knows by name, for access rules, policy tests and actions that are submitted by name. */
export type Catalogue = {
  rows(connectorType: string): readonly Entry[]
  knownAction(actionType: string): KnownAction | null
}

const READ_RPC = ['initialize', 'ping', 'notifications_initialized', 'resources_list', 'resources_read']
const MORE_RPC = ['resources_templates_list', 'prompts_list', 'prompts_get', 'stream_open', 'session_end']

const ROWS: Readonly<Record<string, readonly Entry[]>> = {
  codehost: [...ACTIONS, ...CONTENTS, ...GIT, ...ISSUES, ...PEOPLE, ...PULLS, ...REPOS],
  llm_a: LLM_A_ROWS,
  llm_b: LLM_B_ROWS,
  payments: PAYMENTS_ROWS,
  chat: CHAT_ROWS,
  generic: byMethod('generic'),
  webhook: byMethod('webhook'),
  // Tools are the server's own: none is known to be harmless. What opens and lists is.
  mcp: ['tools.list', ...[...READ_RPC, ...MORE_RPC].map((name) => `rpc.${name}`)].map((name) => ({
    type: `mcp.${name}`,
    effect: 'read',
    risk: 'low',
  })),
}

export function createCatalogue(): Catalogue {
  const known = new Map<string, KnownAction>()
  for (const [connector, rows] of Object.entries(ROWS)) {
    for (const row of rows) known.set(row.type, stricter(known.get(row.type), { ...row, connector }))
  }
  return { rows: (type) => ROWS[type] ?? [], knownAction: (type) => known.get(type) ?? null }
}

function byMethod(connector: string): readonly Entry[] {
  return (['get', 'post', 'put', 'patch', 'delete'] as const).map((method) => ({
    type: `${connector}.${method}`,
    effect: method === 'get' ? 'read' : 'write',
    risk: method === 'get' ? 'low' : method === 'delete' ? 'high' : 'medium',
  }))
}

const EFFECTS = ['read', 'compute', 'write'] as const
const RISKS: readonly RiskLevel[] = ['low', 'medium', 'high']

/** One name may stand for several operations: by name alone the worst of them counts. */
function stricter(known: KnownAction | undefined, row: Entry & { readonly connector: string }): KnownAction {
  const { connector, effect, risk } = row
  return {
    connector,
    effect: later(EFFECTS, known?.effect ?? effect, effect),
    risk: later(RISKS, known?.risk ?? risk, risk),
    hints: { ...known?.hints, ...row.hints },
  }
}

function later<T>(order: readonly T[], a: T, b: T): T {
  return order.indexOf(a) > order.indexOf(b) ? a : b
}
