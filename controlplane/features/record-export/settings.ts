/** Settings of the export of records. */
export type RecordExportSettings = {
  /** Address that accepts OTLP logs over HTTP, with its path. */
  readonly url: string
  /** File with request headers, one `Name: value` per line. Null when no further headers are sent. */
  readonly headersFile: string | null
  /** Resource attributes of the logs (`OTEL_RESOURCE_ATTRIBUTES`). */
  readonly resource: Readonly<Record<string, string>>
}

/**
 * Reads the settings from environment variables; null without `RECORD_EXPORT_URL`. Each error names the variable, the
 * problem and the value to set.
 */
export function readRecordExportSettings(
  text: (name: 'RECORD_EXPORT_URL' | 'RECORD_EXPORT_HEADERS_FILE') => string | null,
  resource: Readonly<Record<string, string>> | null,
): RecordExportSettings | null {
  const [url, headersFile] = [text('RECORD_EXPORT_URL'), text('RECORD_EXPORT_HEADERS_FILE')]
  if (url !== null) return { url: checkedUrl(url), headersFile, resource: resource ?? {} }
  if (headersFile === null) return null
  throw new Error('RECORD_EXPORT_HEADERS_FILE is set without RECORD_EXPORT_URL: set both, or leave both out')
}

function checkedUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.pathname === '/' || url.hash !== '')
    throw new Error(
      'RECORD_EXPORT_URL is not an http or https address with a path: set it to the address of OTLP logs, such as http://collector:4318/v1/logs',
    )
  if (url.username !== '' || url.password !== '')
    throw new Error(
      'RECORD_EXPORT_URL has a user name or a password: set the header Authorization in RECORD_EXPORT_HEADERS_FILE instead',
    )
  return url.href
}
