import { ChaperoneError } from '../../../core/errors.ts'

/**
 * Prints the lines of a response as they arrive. Throws `not_ready` when the response ends early.
 *
 * @param onPart Called for each part of the body that arrives.
 */
export async function printBody(
  body: AsyncIterable<Uint8Array>,
  print: (lines: string) => void,
  onPart: () => void,
): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for await (const part of body) {
      onPart()
      const text = rest + decoder.decode(part, { stream: true })
      const end = text.lastIndexOf('\n')
      if (end >= 0) print(text.slice(0, end))
      rest = text.slice(end + 1)
    }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ChaperoneError('not_ready', {
      detail: `The response ended early (${reason}), so the output is not complete. Run the command again.`,
      cause,
    })
  }
  if (rest !== '') print(rest)
}
