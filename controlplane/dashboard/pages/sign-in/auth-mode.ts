export type AuthMode = {
  readonly title: string
  readonly hint: string
  readonly isNew: boolean
  /**
   * Token of the owner link or of the invitation, by the name of its field in the registration request. Empty for a
   * sign-in.
   */
  readonly tokens: Readonly<Record<string, string>>
  /** E-mail address of the invitation. */
  readonly email?: string
}

/**
 * Returns the authentication mode for a URL. Owner links (`/setup?token=…`) and invitations (`/setup?invite=…`) select
 * registration. All other paths select sign-in.
 */
export function authModeOf(path: string, search: string): AuthMode {
  if (path !== '/setup') return { title: 'Sign in', hint: '', isNew: false, tokens: {} }
  const link = new URLSearchParams(search)
  const [setup, invite] = [link.get('token'), link.get('invite')]
  if (invite !== null) {
    const hint =
      'Choose a password for your account. The invitation is valid only for the e-mail address that was invited.'
    const email = link.get('email') ?? ''
    return { title: 'You are invited', hint, isNew: true, tokens: { invite_token: invite }, email }
  }
  if (setup !== null) {
    const hint = 'The first user to register becomes the owner of this installation and can invite others.'
    return { title: 'Become the owner', hint, isNew: true, tokens: { setup_token: setup } }
  }
  const hint = 'The first user becomes the owner. Later users become viewers or need an invitation.'
  return { title: 'Register', hint, isNew: true, tokens: {} }
}
