/** Messages for the denial reasons in traffic records. */
export const DENIAL_LABELS: Readonly<Record<string, string>> = {
  permission: 'A permission denies it, or no permission allows it.',
  policy: 'A policy denies it.',
  kill_switch: 'The kill switch was active.',
  unknown_host: 'No connector owns this host.',
  approval_denied: 'An approver denied it.',
  approval_expired: 'No approver answered in time.',
  approval_void: 'The approved state changed before the request was sent.',
  ambiguous: 'The request is malformed or ambiguous.',
  not_ready: 'The gateway had no configuration yet.',
}
