import { openPrompt } from '../terminal/prompt.ts'
import { cookieOf, requireSignInSuccess, type SignInResponse, signInRequest } from './sign-in-request.ts'
import { storeDeviceProof, storedDeviceProof } from './stored-device-proofs.ts'

/** Signs in with e-mail address and password, read from the terminal. Stores the device proof for later sign-ins. */
export async function passwordLogin(
  url: string,
  given: {
    readonly env: NodeJS.ProcessEnv
    readonly place: string
    readonly email: string | undefined
  },
): Promise<SignInResponse> {
  const { env, place } = given
  const { email, password } = await credentials(given.email)
  const answer = await signInRequest(url, 'POST /api/auth/login', {
    body: { email, password },
    cookie: storedDeviceProof(env, place, email),
  })
  const [device] = cookieOf(requireSignInSuccess(url, answer), /^svc_device_[0-9a-f]{16}=[\w.-]+$/) ?? []
  if (device !== undefined) storeDeviceProof(env, place, { email, cookie: device })
  return answer
}

async function credentials(given: string | undefined) {
  using prompt = openPrompt()
  const email = given ?? (await prompt.ask('E-mail: ')).trim()
  return { email, password: await prompt.askSecret('Password: ') }
}
