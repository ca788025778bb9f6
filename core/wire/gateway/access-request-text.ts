/**
 * Returns the text that marks a card as one of an access request: an agent requests permission for an action, and no
 * request is held. Returns null for the card of a held request.
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
