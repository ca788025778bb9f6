import { api } from './api.ts'
import { h } from './dom.ts'

/** Registration of the first owner from the printed link (`/setup?token=…`), else sign-in. */
export function signInView(root: HTMLElement, done: () => Promise<void>): () => void {
  const token = new URLSearchParams(location.search).get('token')
  const isFirst = location.pathname === '/setup'
  const problem = h('p', { class: 'problem', role: 'alert' })
  const email = h('input', { type: 'email', name: 'email', required: true, autocomplete: 'username' })
  const name = h('input', { name: 'name', required: true, autocomplete: 'name' })
  const password = h('input', {
    type: 'password',
    name: 'password',
    required: true,
    minlength: isFirst ? '12' : '1',
    autocomplete: isFirst ? 'new-password' : 'current-password',
  })
  const value = (input: HTMLElement) => (input as HTMLInputElement).value
  const submit = async () => {
    const login = { email: value(email), password: value(password) }
    if (isFirst) {
      const setup = token === null ? {} : { setup_token: token }
      await api('POST', '/api/auth/register', { ...login, name: value(name), ...setup })
    }
    await api('POST', '/api/auth/login', login)
    history.replaceState(null, '', '/')
    await done()
  }
  const form = h(
    'form',
    {
      class: 'card',
      onsubmit: (event) => {
        event.preventDefault()
        problem.textContent = ''
        submit().catch((error: Error) => {
          problem.textContent = error.message
        })
      },
    },
    h('h1', {}, isFirst ? 'Become the owner of this Chaperone' : 'Sign in to Chaperone'),
    isFirst ? h('p', { class: 'muted' }, 'The first person to register owns the installation.') : null,
    h('label', {}, 'E-mail', email),
    isFirst ? h('label', {}, 'Name', name) : null,
    h('label', {}, isFirst ? 'Password (12 characters or more)' : 'Password', password),
    problem,
    h(
      'div',
      { class: 'row spread' },
      h('button', { class: 'primary', type: 'submit' }, isFirst ? 'Register' : 'Sign in'),
      isFirst ? null : h('a', { href: '/setup' }, 'First time here?'),
    ),
  )
  root.replaceChildren(h('div', { class: 'narrow' }, form))
  ;(email as HTMLInputElement).focus()
  return () => undefined
}
