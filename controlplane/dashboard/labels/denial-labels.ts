/** Messages by the reason of a denial in traffic records. */
export const DENIAL_LABELS: Readonly<Record<string, string>> = {
  permission: 'A permission denies it, or no permission allows it.',
  policy: 'A policy denies it.',
  policy_invalid: 'A policy is not valid and was never in force, so everything in its scope is denied.',
  kill_switch: 'The kill switch was active.',
  unknown_host: 'No connector owns this host.',
  approval_denied: 'An approver denied it.',
  approval_expired: 'No approver answered in time.',
  approval_void: 'The approval became invalid, because the target changed before the request was sent.',
  ambiguous: 'The request is malformed or ambiguous.',
  not_ready: 'The gateway had no configuration yet.',
  rate_limit: 'The agent exceeded its rate limit, or had too many held requests.',
  agent: 'The agent is unknown, suspended or revoked.',
  address: 'The host resolves to an address that the connector does not allow.',
  credential: 'The connector has no credential.',
}
