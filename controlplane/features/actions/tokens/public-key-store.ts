export type PublicKeyRow = { readonly kid: string; readonly jwk: Record<string, unknown> }
