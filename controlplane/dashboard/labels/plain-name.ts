/**
 * Pattern for the name of a new agent. It equals `PlainName` of core/wire, which the bundle of the dashboard does not
 * contain.
 */
const PLAIN_NAME = /^[A-Za-z0-9]([A-Za-z0-9 ._/-]*[A-Za-z0-9])?$/

const RULE =
  'can contain only letters, digits, spaces and . _ / -, and must begin and end with a letter or digit'

/** Returns the error text for the name of a new agent; null for a valid or an empty name. */
export function nameProblem(name: string): string | null {
  return name === '' || PLAIN_NAME.test(name) ? null : `The name ${RULE}.`
}

/** Pattern for the name of a new connector. It equals the pattern of `ConnectorFields` in core/wire. */
const CONNECTOR_NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** Returns the error text for the name of a new connector; null for a valid or an empty name. */
export function connectorNameProblem(name: string): string | null {
  if (name.trim() === '' || CONNECTOR_NAME.test(name.trim())) return null
  return 'The name can contain only lower-case letters, digits and -, must begin and end with a letter or digit, and has at most 63 characters.'
}
