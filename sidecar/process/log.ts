/**
 * Subset of pino's logger that the sidecar uses. The first argument has the fields, the second is a constant lower-case
 * message.
 */
export type Log = {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
