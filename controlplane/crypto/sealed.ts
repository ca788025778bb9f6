/** A secret encrypted with AES-256-GCM. `nonce` and `ciphertext`, which ends with the 16-byte tag, are base64. */
export type Sealed = { readonly key_id: string; readonly nonce: string; readonly ciphertext: string }
