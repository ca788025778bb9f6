import { ChaperoneError } from '../../../../core/errors.ts'
import { sha256 } from '../../../../runtime/sha256.ts'
import { isSameHash, matchesHash } from '../../../crypto/tokens.ts'
import type { Click } from '../callback.ts'
import { APPROVE, DENY } from '../message.ts'
import type { CardRow } from '../message-store.ts'
import { contentHash } from './content.ts'

/**
 * A click on an unmodified card. `nonceSha256`: hash of the nonce of the button; null when the approval has ended and
 * accepts no answer.
 */
export type CheckedCard = { readonly approvalId: string; readonly nonceSha256: Buffer | null }

/**
 * Returns the card of a click. Throws `forbidden` when the click is not on the current card of the approval: the
 * message, channel or workspace differs, the value of the button is unknown or used, or the message was modified.
 */
export function checkCard(click: Click, row: CardRow | undefined): CheckedCard {
  if (row === undefined || click.place === null) throw refused('this message is not an approval card')
  const { approvalId, team, nonceSha256 } = row
  if (team !== null && click.team !== null && click.team !== team) {
    throw refused('the card belongs to another workspace')
  }
  if (row.hasEnded) return { approvalId, nonceSha256: null }
  if (nonceSha256 === null)
    throw refused('the card is being updated after another answer; click again in a moment')
  if (!matchesHash(click.nonce, nonceSha256)) throw refused('the button does not belong to the current card')
  const isUnchanged = row.contentSha256 !== null && isSameHash(contentHash(click.message), row.contentSha256)
  if (!isUnchanged || !bears(click)) throw refused('the card was changed after it was posted')
  return { approvalId, nonceSha256: sha256(click.nonce) }
}

/** Reports whether the message still contains the clicked button, with the same value. */
function bears({ message, nonce, approved }: Click): boolean {
  const blocks: unknown = message['blocks']
  const elements = (Array.isArray(blocks) ? blocks : []).flatMap((block: unknown) =>
    listOf(block, 'elements'),
  )
  const actionId = approved ? APPROVE : DENY
  return elements.some((each) => textOf(each, 'action_id') === actionId && textOf(each, 'value') === nonce)
}

function listOf(value: unknown, key: string): readonly unknown[] {
  const list: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, key) : null
  return Array.isArray(list) ? list : []
}

function textOf(value: unknown, key: string): string | null {
  const text: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, key) : null
  return typeof text === 'string' ? text : null
}

function refused(why: string): ChaperoneError {
  return new ChaperoneError('forbidden', {
    detail: `Your answer was not stored: ${why}. Answer on the card in the approvals channel, or in the dashboard.`,
  })
}
