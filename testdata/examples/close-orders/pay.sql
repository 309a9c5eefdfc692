UPDATE orders SET status = 'PAID' WHERE id IN ('o029', 'o030') AND status = 'WAIT_PAY';
