import { type Tone, ToneBadge } from '../layout/tone-badge.tsx'

type Style = { readonly text: string; readonly tone: Tone }

/** Label and colour of each decision and approval status, in every spelling of the API. */
const DECISIONS: Readonly<Record<string, Style>> = {
  ALLOW: { text: 'Allowed', tone: 'good' },
  allow: { text: 'Allowed', tone: 'good' },
  approved: { text: 'Approved', tone: 'good' },
  HOLD: { text: 'Held', tone: 'wait' },
  hold: { text: 'Held', tone: 'wait' },
  require_approval: { text: 'Needs approval', tone: 'wait' },
  requires_approval: { text: 'Needs approval', tone: 'wait' },
  pending: { text: 'Pending', tone: 'wait' },
  DENY: { text: 'Denied', tone: 'bad' },
  deny: { text: 'Denied', tone: 'bad' },
  denied: { text: 'Denied', tone: 'bad' },
  expired: { text: 'Expired', tone: 'quiet' },
  cancelled: { text: 'Cancelled', tone: 'quiet' },
}

export function DecisionBadge({
  decision,
  note,
}: {
  readonly decision: string
  readonly note?: string | null
}) {
  const { text, tone } = DECISIONS[decision] ?? { text: decision, tone: 'quiet' }
  return <ToneBadge tone={tone}>{note ? `${text} (${note})` : text}</ToneBadge>
}
