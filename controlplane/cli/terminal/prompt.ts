import { createInterface, type Interface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { ChaperoneError } from '../../../core/errors.ts'

/** Prompts at the terminal. When standard input is not a terminal, reads the answers from its lines. */
export type Prompt = Disposable & {
  ask(label: string): Promise<string>
  /** Prompts without echo, for example for a password. */
  askSecret(label: string): Promise<string>
}

/** Creates the prompt, which reads standard input until disposed. Labels are written to standard error. */
export function openPrompt(): Prompt {
  const { stdin, stderr } = process
  const isTerminal = stdin.isTTY === true
  let isSilent = false
  const output = new Writable({
    write: (chunk, _encoding, done) => {
      if (!isSilent) stderr.write(chunk)
      done()
    },
  })
  const lines = createInterface({ input: stdin, output, terminal: isTerminal })
  const next = isTerminal ? (label: string) => question(lines, label) : lineReader(lines)
  return {
    ask: next,
    async askSecret(label) {
      if (!isTerminal) return next(label)
      // The label must be printed before echo is suppressed.
      stderr.write(label)
      isSilent = true
      try {
        return await next('')
      } finally {
        isSilent = false
        stderr.write('\n')
      }
    },
    [Symbol.dispose]: () => lines.close(),
  }
}

function question(lines: Interface, label: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const onClose = () => reject(ended())
    lines.once('close', onClose)
    lines.once('SIGINT', () => lines.close())
    lines.question(label).then((text) => {
      lines.off('close', onClose)
      resolve(text)
    }, reject)
  })
}

function lineReader(lines: Interface): (label: string) => Promise<string> {
  const iterator = lines[Symbol.asyncIterator]()
  return async () => {
    const { value, done } = await iterator.next()
    if (done === true) throw ended()
    return String(value)
  }
}

function ended(): ChaperoneError {
  return new ChaperoneError('validation', {
    detail: 'Standard input ended before all values were read. Nothing was changed.',
  })
}
