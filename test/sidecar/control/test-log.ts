/** Keeps what was logged, by message. */
export type TestLog = {
  readonly lines: { level: string; message: string; fields: object }[]
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  text(): string
}

export function createTestLog(): TestLog {
  const lines: TestLog['lines'] = []
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, message, fields })
  return {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    text: () =>
      lines
        .map(({ message, fields }) => {
          const error = 'err' in fields && fields.err instanceof Error ? fields.err.message : ''
          return `${message} ${error} ${JSON.stringify(fields)}`
        })
        .join('\n'),
  }
}
