import type { SignInErrorCode } from '../../../core/wire/access/sign-in.ts'

const MESSAGES: Readonly<Record<SignInErrorCode, string>> = {
  expired: 'The sign-in took longer than ten minutes, or its link was already used. Sign in again.',
  other_browser: 'The sign-in was started in another browser. Sign in again in this browser.',
  refused: 'The identity provider did not sign you in. Try again, or ask its administrator.',
  invalid_answer:
    'The response of the identity provider is not valid. The log of the control plane has the reason; ask an administrator.',
  unreachable: 'The identity provider does not respond. Try again in a moment.',
  no_email:
    'The identity provider sent no verified e-mail address. Ask its administrator to add the claim email.',
  no_access: 'None of your groups at the identity provider has access here. Ask an administrator for access.',
  too_many_groups:
    'The identity provider did not list your groups because there are too many. Ask its administrator to send only the groups of this application.',
  suspended: 'Your account is suspended. Ask an administrator to activate it.',
  account_exists:
    'Your e-mail address has an account here that the identity provider cannot take over. Sign in with the password of the account, or ask an owner.',
}

/**
 * Returns the message for an error code in the URL. For an unknown code, returns a generic message that does not
 * contain the code.
 */
export function signInErrorText(code: string): string {
  return Object.hasOwn(MESSAGES, code) ? MESSAGES[code as SignInErrorCode] : MESSAGES.refused
}
