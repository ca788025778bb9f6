/** Why a record says a request was refused, as a sentence. */
export const DENIAL_LABELS: Readonly<Record<string, string>> = {
  permission: 'A permission refused it, or none allows it.',
  policy: 'A policy refused it.',
  kill_switch: 'The kill switch was active.',
  unknown_host: 'No connector owns this host.',
  approval_denied: 'A person said no.',
  approval_expired: 'Nobody answered in time.',
  approval_void: 'The approved state changed before the request was sent.',
  ambiguous: 'The request could not be read, or could be read in two ways.',
  not_ready: 'The gateway had no configuration in force.',
}
