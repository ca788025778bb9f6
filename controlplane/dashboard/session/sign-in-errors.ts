import type { SignInErrorCode } from '../../../core/wire/sign-in.ts'

const SENTENCES: Readonly<Record<SignInErrorCode, string>> = {
  expired: 'The sign-in took longer than ten minutes, or its address was used before. Start again.',
  other_browser: 'The sign-in was started in another browser. Start again in this one.',
  refused: 'The identity provider did not sign you in. Start again, or ask its administrator.',
  invalid_answer:
    'The answer of the identity provider is not valid. An administrator finds the reason in the log of the control plane.',
  unreachable: 'The identity provider does not answer. Try again in a moment.',
  no_email:
    'The identity provider sent no verified e-mail address. Ask its administrator for the claim email.',
  no_access: 'None of your groups at the identity provider has access here. Ask an administrator.',
  too_many_groups:
    'The identity provider did not list your groups because there are too many. Ask its administrator to send only the groups of this application.',
  suspended: 'Your account is suspended. Ask an administrator to activate it.',
  account_exists:
    'Your e-mail address has an account here that the identity provider cannot take over. Sign in with its password, or ask an owner.',
}

/** The sentence of a code in the address; a code that is unknown has one, too, and is never shown. */
export function signInErrorText(code: string): string {
  return Object.hasOwn(SENTENCES, code) ? SENTENCES[code as SignInErrorCode] : SENTENCES.refused
}
