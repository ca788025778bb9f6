/** Text on the card of an access request that tells it from a held request; null on every other card. */
export function accessRequestText({
  access_request,
}: {
  readonly access_request?: boolean | undefined
}): string | null {
  return access_request === true ? NO_REQUEST : null
}

const NO_REQUEST =
  'No request waits. The agent asks for access: approve it for a time, in the dashboard or by chaperone approvals approve --for, or save a permission. An approval alone sends nothing.'
