import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Returns the content of each file in the folder and its subfolders. */
export function filesOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
}

/** Returns the forms in which a secret could appear. */
export function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret)
  // Base64 of a longer text with the secret at any of three offsets.
  const inner = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .slice(offset === 0 ? 0 : 4, -4),
  )
  return [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString('hex'),
    ...inner,
  ]
}

/** Throws if one of the texts has one of the secrets, in any of its forms. */
export function expectNone(texts: readonly string[], secrets: readonly string[]): void {
  const forms = secrets.flatMap(formsOf)
  for (const text of texts)
    for (const form of forms)
      if (text.includes(form)) throw new Error(`a text has ${form}: ${around(text, form)}`)
}

function around(text: string, form: string): string {
  const at = text.indexOf(form)
  return text.slice(Math.max(0, at - 200), at + 200)
}
