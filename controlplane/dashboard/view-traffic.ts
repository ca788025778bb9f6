import { api } from './api.ts'
import { clockTime, h, tag } from './dom.ts'
import { poll } from './poll.ts'

type Row = {
  readonly time: string
  readonly agent: string | null
  readonly action_type: string | null
  readonly decision: string
  readonly note: string | null
  readonly reason: string | null
  readonly method: string
  readonly host: string | null
  readonly path: string | null
  readonly status: number | null
  readonly latency_ms: number
}

/** Live tail, newest first. The filter text is part of the address, so that a view can be shared. */
export function trafficView(root: HTMLElement): () => void {
  const problem = h('p', { class: 'problem', role: 'alert' })
  const table = h('tbody')
  const query = new URLSearchParams(location.hash.split('?')[1] ?? '')
  const filter = h('input', {
    type: 'search',
    placeholder: 'Filter by action, agent, host or path',
    'aria-label': 'Filter',
    value: query.get('q') ?? '',
    oninput: (event) => {
      const text = (event.target as HTMLInputElement).value
      history.replaceState(null, '', text === '' ? '#traffic' : `#traffic?q=${encodeURIComponent(text)}`)
      void load()
    },
  })
  const load = async () => {
    const text = (filter as HTMLInputElement).value
    const parameter = text === '' ? '' : `&q=${encodeURIComponent(text)}`
    const { traffic } = await api<{ traffic: readonly Row[] }>(
      'GET',
      `/api/dashboard/traffic?limit=100${parameter}`,
    )
    table.replaceChildren(...(traffic.length === 0 ? [nothing(text)] : traffic.map(line)))
  }
  const head = ['Time', 'Agent', 'Action', 'Decision', 'Status', 'Latency', 'Request', 'Why']
  root.replaceChildren(
    h('h1', {}, 'Traffic'),
    filter,
    problem,
    h(
      'div',
      { class: 'card scroll' },
      h(
        'table',
        { class: 'cards' },
        h('thead', {}, h('tr', {}, ...head.map((text) => h('th', {}, text)))),
        table,
      ),
    ),
  )
  return poll(load, 2_000, (message) => {
    problem.textContent = message
  })
}

function nothing(filter: string): HTMLElement {
  const text = filter === '' ? 'No agent has called anything yet.' : `Nothing matches ${filter}.`
  return h('tr', {}, h('td', { class: 'muted', colspan: '8' }, text))
}

function line(row: Row): HTMLElement {
  const note = row.note === null ? '' : ` (${row.note})`
  return h(
    'tr',
    {},
    h('td', {}, clockTime(row.time)),
    h('td', {}, row.agent ?? 'unknown'),
    h('td', { class: 'mono' }, row.action_type ?? ''),
    h('td', {}, tag(row.decision), note),
    h('td', {}, row.status === null ? '' : String(row.status)),
    h('td', {}, `${Math.round(row.latency_ms)} ms`),
    h('td', { class: 'path mono' }, `${row.method} ${row.host ?? ''}${row.path ?? ''}`),
    h('td', {}, row.reason ?? ''),
  )
}
