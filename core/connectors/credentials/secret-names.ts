import { isCredentialHeader } from './credential-headers.ts'

const SECRET = /secret|passw|token|api[_-]?key|private[_-]?key|credential/i

/** True for a body field whose text an approval card never shows. */
export function isSecretField(name: string): boolean {
  return SECRET.test(name)
}

/** True for a header field whose value an approval card never shows. */
export function isSecretHeader(name: string): boolean {
  return isCredentialHeader(name) || SECRET.test(name)
}
