import * as z from 'zod'

export const PLAIN_NAME_RULE =
  'can contain only letters, digits, spaces and . _ / -, and must begin and end with a letter or digit'

/**
 * Name of a new agent or gateway. The API, the dashboard and the command line state the rule as `PLAIN_NAME_RULE`. The
 * allowed characters need no quotes in patterns of permissions, and no encoding in scopes of kill switches.
 */
export const PlainName = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[A-Za-z0-9]([A-Za-z0-9 ._/-]*[A-Za-z0-9])?$/, PLAIN_NAME_RULE)
