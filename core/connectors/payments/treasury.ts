/** Catalogue rows for money held and moved at the provider, in both generations of its API. */
export const TREASURY = `
  GET    /v1/treasury/credit_reversals                                           treasury_credit_reversal.list                read  low
  POST   /v1/treasury/credit_reversals                                           treasury_credit_reversal.create              write high   received_credit +financial_impact
  GET    /v1/treasury/credit_reversals/{id}                                      treasury_credit_reversal.get                 read  low
  GET    /v1/treasury/debit_reversals                                            treasury_debit_reversal.list                 read  low
  POST   /v1/treasury/debit_reversals                                            treasury_debit_reversal.create               write high   received_debit +financial_impact
  GET    /v1/treasury/debit_reversals/{id}                                       treasury_debit_reversal.get                  read  low
  GET    /v1/treasury/financial_accounts                                         treasury_financial_account.list              read  low
  POST   /v1/treasury/financial_accounts                                         treasury_financial_account.create            write high   supported_currencies
  GET    /v1/treasury/financial_accounts/{id}                                    treasury_financial_account.get               read  low
  POST   /v1/treasury/financial_accounts/{id}                                    treasury_financial_account.update            write medium
  POST   /v1/treasury/financial_accounts/{id}/close                              treasury_financial_account.close             write high
  GET    /v1/treasury/financial_accounts/{id}/features                           treasury_financial_account.get_features      read  low
  POST   /v1/treasury/financial_accounts/{id}/features                           treasury_financial_account.update_features   write high
  GET    /v1/treasury/inbound_transfers                                          treasury_inbound_transfer.list               read  low
  POST   /v1/treasury/inbound_transfers                                          treasury_inbound_transfer.create             write high   amount,currency,financial_account +financial_impact
  GET    /v1/treasury/inbound_transfers/{id}                                     treasury_inbound_transfer.get                read  low
  POST   /v1/treasury/inbound_transfers/{id}/cancel                              treasury_inbound_transfer.cancel             write medium
  GET    /v1/treasury/outbound_payments                                          treasury_outbound_payment.list               read  low
  POST   /v1/treasury/outbound_payments                                          treasury_outbound_payment.create             write high   amount,currency,financial_account +financial_impact
  GET    /v1/treasury/outbound_payments/{id}                                     treasury_outbound_payment.get                read  low
  POST   /v1/treasury/outbound_payments/{id}/cancel                              treasury_outbound_payment.cancel             write medium
  GET    /v1/treasury/outbound_transfers                                         treasury_outbound_transfer.list              read  low
  POST   /v1/treasury/outbound_transfers                                         treasury_outbound_transfer.create            write high   amount,currency,financial_account +financial_impact
  GET    /v1/treasury/outbound_transfers/{id}                                    treasury_outbound_transfer.get               read  low
  POST   /v1/treasury/outbound_transfers/{id}/cancel                             treasury_outbound_transfer.cancel            write medium
  GET    /v1/treasury/received_credits                                           treasury_received_credit.list                read  low
  GET    /v1/treasury/received_credits/{id}                                      treasury_received_credit.get                 read  low
  GET    /v1/treasury/received_debits                                            treasury_received_debit.list                 read  low
  GET    /v1/treasury/received_debits/{id}                                       treasury_received_debit.get                  read  low
  GET    /v1/treasury/transaction_entries                                        treasury_transaction_entry.list              read  low
  GET    /v1/treasury/transaction_entries/{id}                                   treasury_transaction_entry.get               read  low
  GET    /v1/treasury/transactions                                               treasury_transaction.list                    read  low
  GET    /v1/treasury/transactions/{id}                                          treasury_transaction.get                     read  low
  GET    /v2/core/vault/gb_bank_accounts                                         gb_bank_account.list                         read  low
  POST   /v2/core/vault/gb_bank_accounts                                         gb_bank_account.create                       write high
  GET    /v2/core/vault/gb_bank_accounts/{id}                                    gb_bank_account.get                          read  low
  POST   /v2/core/vault/gb_bank_accounts/{id}/archive                            gb_bank_account.archive                      write medium
  POST   /v2/core/vault/gb_bank_accounts/{id}/unarchive                          gb_bank_account.unarchive                    write medium
  GET    /v2/core/vault/us_bank_accounts                                         us_bank_account.list                         read  low
  POST   /v2/core/vault/us_bank_accounts                                         us_bank_account.create                       write high
  GET    /v2/core/vault/us_bank_accounts/{id}                                    us_bank_account.get                          read  low
  POST   /v2/core/vault/us_bank_accounts/{id}                                    us_bank_account.update                       write high
  POST   /v2/core/vault/us_bank_accounts/{id}/archive                            us_bank_account.archive                      write medium
  POST   /v2/core/vault/us_bank_accounts/{id}/confirm_microdeposits              us_bank_account.confirm_microdeposits        write medium
  POST   /v2/core/vault/us_bank_accounts/{id}/send_microdeposits                 us_bank_account.send_microdeposits           write medium
  POST   /v2/core/vault/us_bank_accounts/{id}/unarchive                          us_bank_account.unarchive                    write medium
  GET    /v2/money_management/adjustments                                        money_adjustment.list                        read  low
  GET    /v2/money_management/adjustments/{id}                                   money_adjustment.get                         read  low
  GET    /v2/money_management/financial_accounts                                 financial_account.list                       read  low
  GET    /v2/money_management/financial_accounts/{id}                            financial_account.get                        read  low
  POST   /v2/money_management/financial_accounts/{id}                            financial_account.update                     write medium
  GET    /v2/money_management/financial_addresses                                financial_address.list                       read  low
  POST   /v2/money_management/financial_addresses                                financial_address.create                     write medium
  GET    /v2/money_management/financial_addresses/{id}                           financial_address.get                        read  low
  GET    /v2/money_management/inbound_transfers                                  inbound_transfer.list                        read  low
  POST   /v2/money_management/inbound_transfers                                  inbound_transfer.create                      write high   amount,from,to +financial_impact
  GET    /v2/money_management/inbound_transfers/{id}                             inbound_transfer.get                         read  low
  GET    /v2/money_management/outbound_payments                                  outbound_payment.list                        read  low
  POST   /v2/money_management/outbound_payments                                  outbound_payment.create                      write high   amount,from,to +financial_impact
  GET    /v2/money_management/outbound_payments/{id}                             outbound_payment.get                         read  low
  POST   /v2/money_management/outbound_payments/{id}/cancel                      outbound_payment.cancel                      write medium
  GET    /v2/money_management/outbound_setup_intents                             outbound_setup_intent.list                   read  low
  POST   /v2/money_management/outbound_setup_intents                             outbound_setup_intent.create                 write medium
  GET    /v2/money_management/outbound_setup_intents/{id}                        outbound_setup_intent.get                    read  low
  POST   /v2/money_management/outbound_setup_intents/{id}                        outbound_setup_intent.update                 write medium
  POST   /v2/money_management/outbound_setup_intents/{id}/cancel                 outbound_setup_intent.cancel                 write medium
  GET    /v2/money_management/payout_intents                                     payout_intent.list                           read  low
  POST   /v2/money_management/payout_intents                                     payout_intent.create                         write high   amount,from,to +financial_impact
  GET    /v2/money_management/payout_intents/{id}                                payout_intent.get                            read  low
  POST   /v2/money_management/payout_intents/{id}                                payout_intent.update                         write high   amount +financial_impact
  POST   /v2/money_management/payout_intents/{id}/cancel                         payout_intent.cancel                         write medium
  POST   /v2/money_management/payout_intents/{id}/confirm                        payout_intent.confirm                        write high   +financial_impact
  POST   /v2/money_management/payout_intents/{id}/refresh_fx_quote               payout_intent.refresh_fx_quote               write medium
  POST   /v2/money_management/payout_intents/{id}/refresh_recipient_verification payout_intent.refresh_recipient_verification write medium
  GET    /v2/money_management/payout_methods                                     payout_method.list                           read  low
  GET    /v2/money_management/payout_methods/{id}                                payout_method.get                            read  low
  POST   /v2/money_management/payout_methods/{id}/archive                        payout_method.archive                        write medium
  POST   /v2/money_management/payout_methods/{id}/unarchive                      payout_method.unarchive                      write medium
  GET    /v2/money_management/payout_methods_bank_account_spec                   payout_method.get_bank_account_spec          read  low
  GET    /v2/money_management/received_credits                                   received_credit.list                         read  low
  GET    /v2/money_management/received_credits/{id}                              received_credit.get                          read  low
  POST   /v2/money_management/recipient_verifications                            recipient_verification.create                write medium
  GET    /v2/money_management/recipient_verifications/{id}                       recipient_verification.get                   read  low
  POST   /v2/money_management/recipient_verifications/{id}/acknowledge           recipient_verification.acknowledge           write medium
  GET    /v2/money_management/transaction_entries                                money_transaction_entry.list                 read  low
  GET    /v2/money_management/transaction_entries/{id}                           money_transaction_entry.get                  read  low
  GET    /v2/money_management/transactions                                       money_transaction.list                       read  low
  GET    /v2/money_management/transactions/{id}                                  money_transaction.get                        read  low
  POST   /v2/money_management/transactions/{id}                                  money_transaction.update                     write medium
  POST   /v2/money_management/transactions/{id}/refresh_regulatory_receipt       money_transaction.refresh_regulatory_receipt write medium
`
