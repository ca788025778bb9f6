import { chatTokenIn } from '../../../../core/connectors/chat.ts'
import { MintError } from './mint.ts'

/**
 * Returns the token if it can be sent in a header and is not a token of a chat app. Throws a `MintError` otherwise.
 *
 * @param rotated Refresh token that the source issued with the token. The error contains the refresh token, so that the
 *   caller can store it.
 */
export function usableToken(token: string, rotated: string | null = null): string {
  if (chatTokenIn(token) !== null)
    throw new MintError(
      'The source issued a chat token. Store the token of a chat app for agents itself, in a Connector of type chat.',
      { rotated },
    )
  if (/^[\x21-\x7e]{1,65536}$/.test(token)) return token
  throw new MintError(
    'The source issued a token with blanks or control characters, which no header can carry. Correct the source, so that it returns the token alone.',
    { rotated },
  )
}

const MAX_TEXT = 200

/** Returns text of a server or command as one line of at most 200 printable characters. */
export function plainText(text: string): string {
  return text.replace(/[^\x20-\x7e…]+/g, ' ').slice(0, MAX_TEXT)
}
