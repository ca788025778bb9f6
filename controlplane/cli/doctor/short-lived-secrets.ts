import * as z from 'zod'
import { type Check, ok } from './check.ts'

/**
 * State of the short-lived credential that was minted from the stored credential of a Connector; null when the stored
 * credential itself is sent.
 */
export const Minted = z
  .looseObject({
    issued_at: z.string().nullable(),
    expires_at: z.string().nullable(),
    error: z.string().nullable().default(null),
  })
  .nullish()

export type ConnectorSecret = { readonly connector: string; readonly minted: z.infer<typeof Minted> }

/**
 * Returns a check with the age and the expiry of each short-lived credential. The warnings of the Connector contain
 * the last failure of the source of this credential.
 */
export function shortLivedSecretChecks(secrets: readonly ConnectorSecret[], nowMs: number): Check[] {
  return secrets.flatMap(({ connector, minted }) =>
    minted?.issued_at == null ? [] : [ok(`connector ${connector}`, stateText(minted, nowMs))],
  )
}

/**
 * Returns a line with the age, the expiry and the last error of each short-lived credential, also for a Connector whose
 * source has given no credential yet.
 */
export function shortLivedSecretLines(secrets: readonly ConnectorSecret[], nowMs: number): string[] {
  return secrets.flatMap(({ connector, minted }) => {
    if (minted == null) return []
    const failure = minted.error === null ? '' : `; last error: ${minted.error}`
    return [`${connector} ${stateText(minted, nowMs)}${failure}`]
  })
}

function stateText(
  { issued_at: issuedAt, expires_at: expiresAt }: NonNullable<ConnectorSecret['minted']>,
  nowMs: number,
): string {
  if (issuedAt === null) return 'has no secret yet'
  const age = timeText(nowMs - Date.parse(issuedAt))
  return `has a secret that is ${age} old and ${expiryText(expiresAt, nowMs)}`
}

function expiryText(expiresAt: string | null, nowMs: number): string {
  if (expiresAt === null) return 'stays valid until its source changes'
  const leftMs = Date.parse(expiresAt) - nowMs
  return leftMs > 0 ? `expires in ${timeText(leftMs)}` : `expired ${timeText(-leftMs)} ago`
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
] as const

/** Formats a time span, rounded down, in the largest unit in which the number is at least 2. */
function timeText(ms: number): string {
  for (const [unit, unitMs] of UNITS) if (ms >= 2 * unitMs) return `${Math.floor(ms / unitMs)} ${unit}`
  return `${Math.max(0, Math.floor(ms / 1_000))} s`
}
