/** The subset of pino's logger that the sidecar uses: fields first, then a constant lower-case message. */
export type Log = {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
