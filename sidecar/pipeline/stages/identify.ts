import { identify } from '../../identity.ts'
import type { Credentials } from '../credentials/credentials.ts'
import { type Identified, type Read, type Received, setAgent, setSnapshot } from '../phases.ts'
import type { PipelinePorts } from '../ports.ts'
import { refuse, refuseReading } from '../refusal/refuse.ts'
import type { Stage, StageResult } from '../stage.ts'
import { bindConnector } from './normalise.ts'

/** Creates the stage that loads the snapshot for the request and identifies its agent. */
export function createIdentify(ports: PipelinePorts): Stage<Received, Identified> {
  return {
    name: 'identify',
    isQuick: true,
    run(exchange) {
      exchange.instance = ports.instance() ?? undefined
      const snapshot = ports.snapshot()
      if (snapshot === null) return refuseMalformed(exchange) ?? refuseNotReady(exchange)
      const loaded = setSnapshot(exchange, snapshot)
      const agent = identify(exchange.credentials, snapshot)
      if (agent === null) return refuseMalformed(exchange) ?? refuseUnknown(exchange)
      const identified = setAgent(loaded, agent)
      return refuseMalformed(exchange) ?? checkStatus(identified)
    },
  }
}

/**
 * Refuses a malformed or oversized request head, whether the agent is known or not. Returns null for other requests.
 */
function refuseMalformed(exchange: Received): 'responded' | null {
  const { malformed, agent } = exchange
  if (malformed === undefined) return null
  if (malformed.code === 'not_ready') return refuse(exchange, { ...malformed, reason: 'not_ready' })
  return malformed.reason !== undefined && agent?.status === 'active'
    ? refuse(exchange, { ...malformed, reason: malformed.reason })
    : refuseReading(exchange, malformed)
}

/**
 * Creates the stage that loads the current snapshot for a new evaluation, because agent, connector and rules may have
 * changed.
 */
export function createRefresh(ports: PipelinePorts): Stage<Read, Read> {
  return {
    name: 'refresh',
    run(exchange) {
      const snapshot = ports.snapshot()
      if (snapshot === null) return refuseNotReady(exchange)
      const agent = snapshot.agentsByName.get(exchange.agent.name)
      setSnapshot(exchange, snapshot)
      // An agent that got the same name since the hold began must not inherit the approval.
      if (agent === undefined || agent.id !== exchange.agent.id) return refuseUnknown(exchange)
      setAgent(exchange, agent)
      bindConnector(exchange)
      return checkStatus(exchange)
    },
  }
}

function checkStatus<Phase extends Identified>(exchange: Phase): StageResult<Phase> {
  const { agent } = exchange
  if (agent.status === 'active') return exchange
  const detail = `Agent "${agent.name}" is ${agent.status}.`
  const extra = { decision: 'deny', reason: detail }
  return refuse(exchange, { code: 'denied', reason: 'agent', detail, error: `agent ${agent.status}`, extra })
}

function refuseNotReady(exchange: Received): 'responded' {
  const detail =
    'The gateway has not received its configuration from the control plane yet. Try again in a moment.'
  return refuse(exchange, { code: 'not_ready', reason: 'not_ready', detail })
}

function refuseUnknown(exchange: Received): 'responded' {
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
