export type AuthMode = {
  readonly title: string
  readonly hint: string
  readonly isNew: boolean
  /** What of the link the registration must show. */
  readonly tokens: Readonly<Record<string, string>>
}

/** The printed link (`/setup?token=…`) and an invitation (`/setup?invite=…`) register; anything else signs in. */
export function authModeOf(path: string, search: string): AuthMode {
  if (path !== '/setup') return { title: 'Sign in', hint: '', isNew: false, tokens: {} }
  const link = new URLSearchParams(search)
  const [setup, invite] = [link.get('token'), link.get('invite')]
  if (invite !== null) {
    const hint = 'Choose a password for your account. The invitation is for one e-mail address.'
    return { title: 'You are invited', hint, isNew: true, tokens: { invite_token: invite } }
  }
  if (setup !== null) {
    const hint = 'The first person to register owns this installation: you can invite everybody else.'
    return { title: 'Become the owner', hint, isNew: true, tokens: { setup_token: setup } }
  }
  const hint = 'The first person becomes the owner. Later ones may look, or need an invitation.'
  return { title: 'Register', hint, isNew: true, tokens: {} }
}
