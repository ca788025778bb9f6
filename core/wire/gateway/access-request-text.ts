/**
 * Returns the text that distinguishes the card of an access request from that of a held request; null for other cards.
 */
export function accessRequestText({
  access_request,
}: {
  readonly access_request?: boolean | undefined
}): string | null {
  return access_request === true ? NO_REQUEST : null
}

const NO_REQUEST =
  'The agent asks for access; no request is held. To give access, approve for a time (in the dashboard, or with chaperone approvals approve --for), or save a permission. An approval without a time has no effect.'
