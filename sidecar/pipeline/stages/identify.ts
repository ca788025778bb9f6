import type { AgentEntry } from '../../../core/wire/gateway/sync.ts'
import { identify } from '../../identity.ts'
import { bindConnector } from '../bind-connector.ts'
import { NOT_EVALUATED } from '../evaluation.ts'
import type { Credentials, Exchange, Stage, StageResult } from '../exchange.ts'
import type { PipelinePorts } from '../ports.ts'
import { refuse, refuseReading } from '../refusal/refuse.ts'

/** Creates the stage that loads the snapshot for the request and identifies its agent. */
export function createIdentify(ports: PipelinePorts): Stage {
  return {
    name: 'identify',
    isQuick: true,
    run(exchange) {
      const snapshot = ports.snapshot()
      const agent = snapshot === null ? null : identify(exchange.credentials, snapshot)
      if (snapshot !== null) exchange.snapshot = snapshot
      if (agent !== null) exchange.agent = agent
      exchange.instance = ports.instance() ?? undefined
      return judge(exchange)
    },
  }
}

/** Refuses a malformed or oversized request head for any agent, and then an unknown or inactive agent. */
function judge(exchange: Exchange): StageResult {
  const { malformed, snapshot, agent } = exchange
  if (malformed?.code === 'not_ready') return refuse(exchange, { ...malformed, reason: 'not_ready' })
  if (malformed?.reason !== undefined && agent?.status === 'active')
    return refuse(exchange, { ...malformed, reason: malformed.reason })
  if (malformed !== undefined) return refuseReading(exchange, malformed)
  if (snapshot === undefined) return refuseNotReady(exchange)
  return agent === undefined ? refuseUnknown(exchange) : checkStatus(exchange, agent)
}

/**
 * Creates the stage that loads the current snapshot for a new evaluation, because agent, connector and rules may have
 * changed.
 */
export function createRefresh(ports: PipelinePorts): Stage {
  return {
    name: 'refresh',
    run(exchange) {
      const snapshot = ports.snapshot()
      if (snapshot === null) return refuseNotReady(exchange)
      const agent = snapshot.agentsByName.get(exchange.agent?.name ?? '')
      exchange.snapshot = snapshot
      // An agent that got the same name since the hold began must not inherit the approval.
      if (agent === undefined || agent.id !== exchange.agent?.id) return refuseUnknown(exchange)
      exchange.agent = agent
      exchange.evaluation = NOT_EVALUATED
      if (exchange.read !== undefined) bindConnector(exchange, exchange.read)
      return checkStatus(exchange, agent)
    },
  }
}

function checkStatus(exchange: Exchange, agent: AgentEntry): StageResult {
  if (agent.status === 'active') return 'continue'
  const detail = `Agent "${agent.name}" is ${agent.status}.`
  const extra = { decision: 'deny', reason: detail }
  return refuse(exchange, { code: 'denied', reason: 'agent', detail, error: `agent ${agent.status}`, extra })
}

function refuseNotReady(exchange: Exchange): StageResult {
  const detail =
    'The gateway has not received its configuration from the control plane yet. Try again in a moment.'
  return refuse(exchange, { code: 'not_ready', reason: 'not_ready', detail })
}

function refuseUnknown(exchange: Exchange): StageResult {
  if (exchange.credentials.kind === 'port') {
    const detail = `Agent "${exchange.credentials.agent}" is not registered. Register the agent again.`
    return refuse(exchange, { code: 'denied', reason: 'agent', detail, error: 'agent unknown' })
  }
  return refuse(exchange, {
    code: 'proxy_auth_required',
    reason: 'agent',
    detail: keyAdvice(exchange.credentials),
  })
}

const HOW =
  'Start the program with "chaperone run", or use the proxy address from "chaperone status --json" (http://NAME:KEY@127.0.0.1:PORT).'

function keyAdvice({ kind, keyedPort }: Exclude<Credentials, { kind: 'port' }>): string {
  if (keyedPort !== undefined) {
    const what = kind === 'none' ? 'The request has no key' : 'The request has a different agent name or key'
    return `This port needs the key of agent "${keyedPort.agent}". ${what}. ${HOW}`
  }
  return kind === 'none'
    ? 'The request names no agent. Use http://NAME:KEY@HOST:PORT as the proxy address.'
    : 'The agent name or its key is wrong. Use the key that was shown when the agent was created, or rotate the key.'
}
