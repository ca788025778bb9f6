import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import { EXIT, type Invocation } from '../command.ts'
import { fileErrorText } from './file-error.ts'

/** Writes the error of a command to standard error, and returns the exit code. */
export function reportError(error: unknown, { env, terminal }: Pick<Invocation, 'env' | 'terminal'>): number {
  terminal.warn(`chaperone: ${errorText(error)}`)
  if (env['CHAPERONE_DEBUG'] && error instanceof Error && error.stack !== undefined)
    terminal.warn(error.stack)
  if (!(error instanceof ChaperoneError)) return EXIT.refused
  if (error.code === 'validation') return EXIT.usage
  return error.code === 'not_ready' ? EXIT.unreachable : EXIT.refused
}

function errorText(error: unknown): string {
  if (error instanceof ChaperoneError) return error.message
  if (error instanceof z.ZodError) return schemaMismatch(error)
  return (
    fileErrorText(error) ??
    `Unexpected error: ${messageOf(error)}. Check the installation: chaperone doctor. For the stack trace set CHAPERONE_DEBUG=1.`
  )
}

/**
 * Returns the message of an error in one line, without a full stop. Node reports failed attempts to connect to the
 * addresses of a host as an `AggregateError` without a message.
 */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return [...new Set(error.errors.map(messageOf))].join(', ')
  const text = error instanceof Error ? error.message || error.name : String(error)
  return text.trim().replace(/\s+/g, ' ').replace(/\.$/, '')
}

/**
 * Returns the error text for a response that does not match its schema. The usual cause is a server of another version.
 */
function schemaMismatch({ issues: [first] }: z.ZodError): string {
  const place = first === undefined ? '' : ` (${first.path.join('.')}: ${first.message})`
  return (
    `this version of the command cannot read the response${place}.\n` +
    'An older or a newer version of Chaperone may be running. Restart it with this version: chaperone up'
  )
}
