import type { ApprovalCard } from '../../../../core/wire/gateway/internal.ts'
import type { Delivery } from '../delivery.ts'

/** Message about one hold, or a test message without an approval. */
export type Notice = {
  /** Id of the message, the same for all attempts. */
  readonly id: string
  readonly event: 'approval.opened' | 'approval.ended' | 'channel.test'
  /** Time of the attempt, by the clock of the database. */
  readonly at: Date
  readonly title: string
  /** Labelled values of the approval card, without the parameters of the request. */
  readonly facts: readonly (readonly [label: string, value: string])[]
  /** URL of the card in the dashboard; null without PUBLIC_URL. Opening the URL does not answer the approval. */
  readonly link: string | null
  readonly approval: ApprovalCard | null
  /** E-mail addresses of the users who may answer. */
  readonly approvers: readonly string[]
}

/** Channel that sends notices to approvers. `send` makes one attempt; a rejection counts as a failed attempt. */
export type Channel<S> = {
  send(settings: S, notice: Notice, signal: AbortSignal): Promise<Delivery>
}

/** Returns the facts and the link of a notice as text, one line each. */
export function noticeText({ facts, link }: Notice): string {
  const lines = facts.map(([label, value]) => `${label}: ${value}`)
  return [...lines, link === null ? 'Open the page Approvals of the dashboard to answer.' : link].join('\n')
}
