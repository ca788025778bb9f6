import { api } from './api.ts'
import { clockTime, h } from './dom.ts'
import { poll } from './poll.ts'
import { type Me, mayAct } from './roles.ts'

type Entry = {
  readonly scope: string
  readonly source: string
  readonly reason: string
  readonly since: string
}
type State = {
  readonly effective: readonly Entry[]
  readonly acknowledged?: { acked: number; total: number; ms: number }
}

/** Stops everything in two steps: a reason, then the word of the server how many gateways stopped. */
export function killButton(): HTMLElement {
  const stopAll = async () => {
    const reason = prompt('Stop every agent now. Reason (shown to everyone):')
    if (reason === null) return
    const state = await api<State>('POST', '/api/dashboard/kill-switch', { active: true, reason })
    const acks = state.acknowledged
    if (acks !== undefined) alert(`${acks.acked} of ${acks.total} gateways stopped in ${acks.ms} ms`)
  }
  return h(
    'button',
    { class: 'danger', onclick: () => void stopAll().catch((error: Error) => alert(error.message)) },
    'Stop everything',
  )
}

/** A band over every page while anything is stopped, with the way back for those who may. */
export function killBanner(root: HTMLElement, me: Me): () => void {
  const mayLift = mayAct(me.user.role, 'admin')
  const load = async () => {
    const { effective } = await api<State>('GET', '/api/dashboard/kill-switch')
    root.className = effective.length === 0 ? '' : 'banner row spread'
    const lines = effective.map(line)
    const lift = h('button', { onclick: () => void liftAll(effective).then(load) }, 'Lift')
    root.replaceChildren(
      ...(effective.length === 0 ? [] : [h('div', {}, ...lines), mayLift ? lift : h('span')]),
    )
  }
  return poll(load, 2_000, () => undefined)
}

function line({ scope, source, reason, since }: Entry): HTMLElement {
  const what = scope === 'all' ? 'Everything is stopped' : `${scope} is stopped`
  return h('div', {}, h('strong', {}, what), ` since ${clockTime(since)} (${source}): ${reason}`)
}

async function liftAll(entries: readonly Entry[]): Promise<void> {
  if (!confirm('Let the stopped agents work again?')) return
  for (const entry of entries) {
    await api('POST', '/api/dashboard/kill-switch', { active: false, scope: entry.scope }).catch(
      (error: Error) => alert(`${entry.scope}: ${error.message}`),
    )
  }
}
