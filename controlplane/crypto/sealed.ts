/** A secret at rest: AES-256-GCM. `nonce` and `ciphertext` (with the 16-byte tag at its end) are base64. */
export type Sealed = { readonly key_id: string; readonly nonce: string; readonly ciphertext: string }
