import { api } from './api.ts'
import { clockTime, facts, h, tag } from './dom.ts'
import { poll } from './poll.ts'

type Live = {
  readonly processes: number
  readonly applied_version: number | null
  readonly desired_version: number
  readonly last_seen_at: string | null
}
type Gateway = {
  readonly name: string
  readonly host: string
  readonly port: number
  readonly status: string
  readonly enforcementLevel: string
  readonly live: Live | null
}
type Agent = {
  readonly name: string
  readonly status: string
  readonly environment: string
  readonly last_seen_at: string | null
}

/** What runs, at which level, and who uses it. */
export function overviewView(root: HTMLElement): () => void {
  const problem = h('p', { class: 'problem', role: 'alert' })
  const gateways = h('div')
  const agents = h('div')
  root.replaceChildren(h('h1', {}, 'Gateways'), problem, gateways, h('h2', {}, 'Agents'), agents)
  const load = async () => {
    const [first, second] = await Promise.all([
      api<{ gateways: readonly Gateway[] }>('GET', '/api/dashboard/gateway'),
      api<{ agents: readonly Agent[] }>('GET', '/api/dashboard/agents'),
    ])
    gateways.replaceChildren(...first.gateways.map(gatewayCard))
    agents.replaceChildren(...second.agents.map(agentCard))
  }
  return poll(load, 3_000, (message) => {
    problem.textContent = message
  })
}

function gatewayCard(gateway: Gateway): HTMLElement {
  const live = gateway.live
  return h(
    'section',
    { class: 'card' },
    h('div', { class: 'row spread' }, h('h2', {}, gateway.name), tag(gateway.status)),
    facts([
      ['Address', `${gateway.host}:${gateway.port}`],
      ['Enforcement', gateway.enforcementLevel],
      [
        'Configuration',
        live === null
          ? 'not connected'
          : `applied ${live.applied_version ?? 'none'} of ${live.desired_version}`,
      ],
      ['Last seen', live?.last_seen_at ? clockTime(live.last_seen_at) : null],
    ]),
  )
}

function agentCard(agent: Agent): HTMLElement {
  return h(
    'section',
    { class: 'card row spread' },
    h('strong', {}, agent.name),
    h('span', { class: 'muted' }, agent.environment),
    h(
      'span',
      { class: 'muted' },
      agent.last_seen_at ? `seen ${clockTime(agent.last_seen_at)}` : 'not seen yet',
    ),
    tag(agent.status),
  )
}
