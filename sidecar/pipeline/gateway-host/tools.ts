import * as z from 'zod'
import { canonicalTarget } from '../../../core/connectors/binding/canonical-target.ts'
import { decideByName, decideNamesOfType } from '../../../core/decision/decide-by-name.ts'
import type { AgentFacts } from '../../../core/decision/decision.ts'
import { LOG_DECISION } from '../../../core/decision/vocabulary.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { fieldMessage } from '../../../core/schema/field-message.ts'
import type { Sliced } from '../../../core/sliced.ts'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import type { PipelinePorts } from '../ports.ts'
import { accessRequest } from './access-request.ts'

export type ToolContext = {
  readonly snapshot: Snapshot
  readonly agent: AgentFacts
  readonly ports: Pick<PipelinePorts, 'holds' | 'clock' | 'newId'>
  /** Runs long work in slices, between which other requests are served. */
  readonly runSliced: <T>(work: Sliced<T>) => Promise<T>
}

export type ToolResult = { readonly text: string; readonly isError: boolean }

const ActionName = z
  .string()
  .regex(/^[a-z_]{1,32}\.[A-Za-z0-9._~/-]{1,290}$/, 'must be a name such as codehost.pr.merge')
const Target = z.string().max(500).optional()

const REASON = 'must have 1 to 500 characters, which tell the approver why the agent needs the action'

const INPUTS = {
  what_may_i_do: z.object({ connector_type: z.string().regex(/^[a-z_]{1,32}$/) }),
  explain: z.object({ action: ActionName, target: Target }),
  request_access: z.object({
    action: ActionName,
    target: Target,
    reason: z.string().min(1, REASON).max(500, REASON),
    duration: z.enum(['once', '15m', '1h', 'today', 'permanent']).default('1h'),
  }),
} as const

const DESCRIPTIONS = {
  what_may_i_do: 'Lists the actions of a connector type that are allowed, and those that need an approval.',
  explain: 'Reports whether an action would be allowed, held for an approval or refused, and why.',
  request_access:
    'Asks approvers for access to an action. The call itself grants nothing; try the action after an approver has answered.',
} as const

type Name = keyof typeof INPUTS

/**
 * Returns the tools that the Gateway offers. With `refusalDetail: brief`, the only tool is `request_access`, because
 * the other tools show rules.
 */
export function toolsOf({ snapshot }: ToolContext) {
  const isBrief = snapshot.gateway.refusalDetail === 'brief'
  const names = (Object.keys(INPUTS) as Name[]).filter((name) => !isBrief || name === 'request_access')
  return names.map((name) => ({
    name,
    description: DESCRIPTIONS[name],
    inputSchema: z.toJSONSchema(INPUTS[name], { io: 'input' }),
  }))
}

export async function callTool(name: string, input: unknown, context: ToolContext): Promise<ToolResult> {
  if (!toolsOf(context).some((tool) => tool.name === name))
    return failed(`There is no tool ${name.slice(0, 100)}.`)
  switch (name as Name) {
    case 'what_may_i_do':
      return withInput(INPUTS.what_may_i_do, input, ({ connector_type }) =>
        whatMayIDo(connector_type, context),
      )
    case 'explain':
      return withInput(INPUTS.explain, input, (asked) => explain(asked, context))
    case 'request_access':
      return withInput(INPUTS.request_access, input, (asked) => requestAccess(asked, context))
  }
}

async function withInput<T>(
  schema: z.ZodType<T>,
  input: unknown,
  work: (value: T) => ToolResult | Promise<ToolResult>,
): Promise<ToolResult> {
  const found = schema.safeParse(input ?? {}, { error: fieldMessage })
  if (found.success) return work(found.data)
  const [issue] = found.error.issues
  return failed(`${issue?.path.join('.') || 'arguments'}: ${issue?.message ?? 'invalid'}`)
}

async function whatMayIDo(
  type: string,
  { snapshot, agent, ports, runSliced }: ToolContext,
): Promise<ToolResult> {
  const nowMs = ports.clock.nowMs()
  const decided = await runSliced(decideNamesOfType({ snapshot, agent, connectorType: type, nowMs }))
  const namesWith = (verdict: string) =>
    decided.filter(({ decision }) => decision.verdict === verdict).map(({ input }) => input.action.type)
  if (decided.length === 0) return failed(`This gateway has no connector of type ${type} with named actions.`)
  const answer = {
    allowed: namesWith('allow'),
    held_for_approval: namesWith('hold'),
    note: 'All other actions are refused. Conditions of policies can change the decision on a request.',
  }
  return { text: JSON.stringify(answer), isError: false }
}

function explain(
  { action, target }: { action: string; target?: string | undefined },
  context: ToolContext,
): ToolResult {
  const found = decisionOn(action, target, context)
  if (typeof found === 'string') return failed(UNDECIDED[found](action))
  const { verdict, reason } = found.decision
  return { text: `${LOG_DECISION[verdict]}: ${reason}`, isError: false }
}

type Asked = z.output<(typeof INPUTS)['request_access']>

async function requestAccess(asked: Asked, context: ToolContext): Promise<ToolResult> {
  const found = decisionOn(asked.action, asked.target, context)
  if (typeof found === 'string') return failed(UNDECIDED[found](asked.action))
  const { agent, ports } = context
  const target = canonicalTarget(found.input.action.connector, found.input.action.resource) ?? null
  try {
    const { approval } = await ports.holds.open(
      accessRequest({
        ...found,
        reason: asked.reason,
        duration: asked.duration,
        target,
        agent,
        newId: ports.newId,
      }),
    )
    const text = `The access request has the id ${approval.id} and waits for an approver until ${approval.expires_at}. No access is granted yet.`
    return { text, isError: false }
  } catch (error) {
    if (!(error instanceof ChaperoneError)) throw error
    return failed(error.code === 'too_many_holds' ? TOO_MANY : error.message)
  }
}

function decisionOn(
  type: string,
  target: string | undefined,
  { snapshot, agent, ports }: ToolContext,
): ReturnType<typeof decideByName> {
  return decideByName({ snapshot, agent, type, target, nowMs: ports.clock.nowMs() })
}

const TOO_MANY =
  'This agent has the maximum number of open access requests. Ask again after an approver has answered one of them.'

const UNDECIDED = {
  no_connector: (action: string) => `This gateway has no connector of type ${action.split('.', 1)[0]}.`,
  unknown_action: (action: string) =>
    `There is no action ${action}. Use the name that the refusal has in its field action_type.`,
} as const

function failed(text: string): ToolResult {
  return { text, isError: true }
}
