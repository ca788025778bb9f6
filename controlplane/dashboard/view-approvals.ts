import { api } from './api.ts'
import { clockTime, facts, h, tag } from './dom.ts'
import { poll } from './poll.ts'

type Card = {
  readonly id: string
  readonly status: string
  readonly agent: string
  readonly action_type: string
  readonly target: string | null
  readonly method: string | null
  readonly host: string | null
  readonly path: string | null
  readonly parameters: Readonly<Record<string, unknown>>
  readonly risk_score: number
  readonly risk_factors: readonly string[]
  readonly matched_rule: string | null
  readonly required_approver_groups: readonly string[]
  readonly requested_by_agent_text: string | null
  readonly created_at: string
  readonly expires_at: string
  readonly responded_by: string | null
  readonly note: string | null
}

/** What waits for a person, then what was answered last. */
export function approvalsView(root: HTMLElement): () => void {
  const problem = h('p', { class: 'problem', role: 'alert' })
  const waiting = h('div', { 'aria-live': 'polite' })
  const recent = h('div')
  root.replaceChildren(h('h1', {}, 'Waiting for a person'), problem, waiting, h('h2', {}, 'Answered'), recent)
  const shown = new Map<string, HTMLElement>()
  const load = async () => {
    const { approvals } = await api<{ approvals: readonly Card[] }>('GET', '/api/dashboard/proxy-approvals')
    const pending = approvals.filter((card) => card.status === 'pending')
    keepCards(waiting, shown, pending, (message) => {
      problem.textContent = message
    })
    recent.replaceChildren(history(approvals.filter((card) => card.status !== 'pending')))
  }
  return poll(load, 1_500, (message) => {
    problem.textContent = message
  })
}

/** Cards stay the same elements while they wait, so that a half-written note is not lost to a refresh. */
function keepCards(
  root: HTMLElement,
  shown: Map<string, HTMLElement>,
  cards: readonly Card[],
  onProblem: (message: string) => void,
): void {
  const ids = new Set(cards.map((card) => card.id))
  for (const [id, element] of shown) {
    if (ids.has(id)) continue
    element.remove()
    shown.delete(id)
  }
  for (const card of cards) {
    if (shown.has(card.id)) continue
    const element = pendingCard(card, onProblem)
    shown.set(card.id, element)
    root.append(element)
  }
  root.querySelector('.empty')?.remove()
  if (cards.length === 0)
    root.append(h('p', { class: 'muted empty' }, 'Nothing waits. Held requests appear here at once.'))
}

function pendingCard(card: Card, onProblem: (message: string) => void): HTMLElement {
  const note = h('input', { placeholder: 'Reason (kept in the audit trail)', 'aria-label': 'Reason' })
  const answer = (approved: boolean) => () => {
    const text = (note as HTMLInputElement).value
    const body = { id: card.id, approved, ...(text === '' ? {} : { note: text }) }
    setBusy(element, true)
    api('POST', '/api/dashboard/proxy-approvals', body).then(
      () => removeAndMoveOn(element),
      (error: Error) => {
        setBusy(element, false)
        onProblem(error.message)
      },
    )
  }
  const element = h(
    'section',
    { class: 'card', 'data-approval': card.id },
    h(
      'div',
      { class: 'row spread' },
      h('h2', { class: 'mono' }, card.action_type),
      timeLeft(card.expires_at),
    ),
    facts([
      ['Target', card.target],
      ['Agent', card.agent],
      [
        'Request',
        card.method === null ? null : h('code', {}, `${card.method} ${card.host ?? ''}${card.path ?? ''}`),
      ],
      [
        'Risk',
        `${card.risk_score.toFixed(2)}${card.risk_factors.length === 0 ? '' : ` (${card.risk_factors.join(', ')})`}`,
      ],
      ['Asked by rule', card.matched_rule],
      ['Approver groups', card.required_approver_groups.join(', ')],
    ]),
    h('pre', {}, JSON.stringify(card.parameters, null, 2)),
    card.requested_by_agent_text === null
      ? null
      : h('blockquote', {}, h('strong', {}, 'The agent says (unverified): '), card.requested_by_agent_text),
    h(
      'div',
      { class: 'row' },
      note,
      h('button', { class: 'primary', onclick: answer(true) }, 'Approve'),
      h('button', { class: 'danger', onclick: answer(false) }, 'Deny'),
    ),
  )
  return element
}

/** One answer is one click, however slow the server is. */
function setBusy(card: HTMLElement, isBusy: boolean): void {
  for (const button of card.querySelectorAll('button')) button.disabled = isBusy
}

/** Whoever works with the keyboard goes on with the next card instead of at the top of the page. */
function removeAndMoveOn(card: HTMLElement): void {
  const next = card.nextElementSibling ?? card.previousElementSibling
  card.remove()
  next?.querySelector('input')?.focus()
}

function timeLeft(expiresAt: string): HTMLElement {
  return h('span', { class: 'tag HOLD' }, `until ${clockTime(expiresAt)}`)
}

function history(cards: readonly Card[]): HTMLElement {
  if (cards.length === 0) return h('p', { class: 'muted' }, 'No answers yet.')
  const rows = cards.map((card) =>
    h(
      'tr',
      {},
      h('td', {}, clockTime(card.created_at)),
      h('td', {}, tag(card.status)),
      h('td', { class: 'mono' }, card.action_type),
      h('td', {}, card.target ?? ''),
      h('td', {}, card.agent),
      h('td', {}, card.responded_by ?? ''),
      h('td', {}, card.note ?? ''),
    ),
  )
  const head = ['Asked', 'Answer', 'Action', 'Target', 'Agent', 'By', 'Reason'].map((text) =>
    h('th', {}, text),
  )
  return h(
    'div',
    { class: 'card scroll' },
    h('table', { class: 'cards' }, h('thead', {}, h('tr', {}, ...head)), h('tbody', {}, ...rows)),
  )
}
